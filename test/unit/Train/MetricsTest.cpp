//===- MetricsTest.cpp - Event files, metrics and the picture -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/Metrics.h"
#include "runtime/Support/Json.h"
#include "runtime/Train/LossCurve.h"
#include "test/unit/Support/TestSupport.h"

#include <cmath>
#include <cstring>

using namespace gpt2rt;
using namespace gpt2rt::test;

namespace {

/// Splits a TFRecord file, checking every checksum.
std::vector<std::string> recordsOf(const std::string &file) {
  std::vector<std::string> records;
  for (size_t at = 0; at < file.size();) {
    uint64_t length;
    uint32_t lengthCrc, crc;
    std::memcpy(&length, file.data() + at, 8);
    std::memcpy(&lengthCrc, file.data() + at + 8, 4);
    EXPECT_EQ(lengthCrc, maskedCrc32c({file.data() + at, 8}));
    records.push_back(file.substr(at + 12, length));
    std::memcpy(&crc, file.data() + at + 12 + length, 4);
    EXPECT_EQ(crc, maskedCrc32c(records.back()));
    at += 16 + length;
  }
  return records;
}

/// A protobuf message as "field:value" items, nested ones in braces.
std::string decode(std::string_view message, int depth) {
  std::string text;
  auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      auto byte = static_cast<unsigned char>(message.front());
      message.remove_prefix(1);
      value |= uint64_t(byte & 0x7f) << shift;
      if (byte < 0x80)
        return value;
    }
  };
  while (!message.empty()) {
    uint64_t key = varint();
    text += strCat(text.empty() ? "" : " ", key >> 3, ":");
    if ((key & 7) == 0) {
      text += strCat(varint());
    } else if ((key & 7) == 1) {
      double value;
      std::memcpy(&value, message.data(), 8);
      message.remove_prefix(8);
      text += value > 1e9 ? "now" : strCat(value);
    } else if ((key & 7) == 5) {
      float value;
      std::memcpy(&value, message.data(), 4);
      message.remove_prefix(4);
      text += strCat(value);
    } else {
      size_t size = varint();
      std::string_view inner = message.substr(0, size);
      message.remove_prefix(size);
      bool nested = (depth == 0 && (key >> 3) != 3) || depth == 1;
      text +=
          nested ? "{" + decode(inner, depth + 1) + "}" : std::string(inner);
    }
  }
  return text;
}

TEST(EventFile, ChecksumIsCastagnolis) {
  // CRC-32C of "123456789" is 0xe3069283.
  uint32_t crc = 0xe3069283;
  EXPECT_EQ(maskedCrc32c("123456789"),
            ((crc >> 15) | (crc << 17)) + 0xa282ead8);
}

TEST(EventFile, HoldsWhatTensorBoardReads) {
  TempDir dir;
  ASSERT_ASSIGN(EventFile file, EventFile::create(dir.path(), 5));
  EventFile::Scalar scalars[] = {{"loss/train", 1.5}, {"x", 300}};
  ASSERT_OK(file.add(300, scalars));
  ASSERT_ASSIGN(std::string bytes, readTextFile(file.path()));
  EXPECT_THAT(file.path(), testing::HasSubstr("/events.out.tfevents."));
  std::vector<std::string> events;
  for (const std::string &record : recordsOf(bytes))
    events.push_back(decode(record, 0));
  EXPECT_THAT(events,
              testing::ElementsAre(
                  "1:now 2:0 3:brain.Event:2", "1:now 2:5 7:{1:1}",
                  "1:now 2:300 5:{1:{1:loss/train 2:1.5} 1:{1:x 2:300}}"));
}

TEST(EventFile, HoldsTextsForThePluginOfThatName) {
  TempDir dir;
  ASSERT_ASSIGN(EventFile file, EventFile::create(dir.path(), 1));
  ASSERT_OK(file.addText(7, "samples/prompt_1", "a\nb"));
  ASSERT_ASSIGN(std::string bytes, readTextFile(file.path()));
  // A tensor of one string, type 7 and shape [1]; the plugin's name.
  EXPECT_EQ(decode(recordsOf(bytes).back(), 0),
            "1:now 2:7 5:{1:{1:samples/prompt_1 "
            "8:\x08\x07\x12\x04\x12\x02\x08\x01\x42\x0b    a\n    b "
            "9:\x0a\x06\x0a\x04text}}");
}

SampleReport sampleOf(bool hasText) {
  SampleReport report;
  report.step = 4;
  report.hasText = hasText;
  report.promptText = hasText ? "On" : "";
  report.result.promptIds = {7, 8};
  report.result.outputIds = {9, 50};
  report.result.text = hasText ? "ce\n" : "";
  report.result.finish = FinishReason::Eos;
  return report;
}

TEST(Metrics, ALineAText) {
  EXPECT_EQ(sampleJson(sampleOf(true)),
            R"({"finish_reason":"eos","output_ids":[9,50],"prompt":"On",)"
            R"("prompt_ids":[7,8],"step":4,"text":"ce\n"})");
  ASSERT_ASSIGN(Json ids, parseJson(sampleJson(sampleOf(false)), "line"));
  EXPECT_TRUE(ids["text"].is_null());
  EXPECT_TRUE(ids["prompt"].is_null());
  EXPECT_EQ(ids["output_ids"][1], 50);
}

StepReport reportOf(uint64_t step) {
  StepReport report;
  report.step = step;
  report.loss = 10.0 / double(step);
  report.gradNorm = step == 2 ? INFINITY : 1;
  if (step == 3)
    report.valLoss = 2.5;
  return report;
}

TEST(Metrics, ALineAStepWithoutNonNumbers) {
  ASSERT_ASSIGN(Json object, parseJson(stepJson(reportOf(2)), "line"));
  EXPECT_EQ(object["step"], 2);
  EXPECT_EQ(object["loss"], 5);
  EXPECT_TRUE(object["grad_norm"].is_null());
  EXPECT_FALSE(object.contains("val_loss"));
  ASSERT_ASSIGN(Json other, parseJson(stepJson(reportOf(3)), "line"));
  EXPECT_EQ(other["val_loss"], 2.5);
}

std::vector<int> loggedSteps(const TempDir &dir) {
  std::vector<int> steps;
  std::string text = *readTextFile(dir.file("metrics.jsonl"));
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    steps.push_back(
        Json::parse(text.substr(at, text.find('\n', at) - at))["step"]);
  return steps;
}

TEST(Metrics, AResumedRunWritesOverWhatItDoesAgain) {
  TempDir dir;
  {
    ASSERT_ASSIGN(MetricsLog log, MetricsLog::open(dir.path(), 0));
    ASSERT_OK(log.addValidation(0, 3));
    for (uint64_t step : {1, 2, 3, 4})
      ASSERT_OK(log.add(reportOf(step)));
  }
  std::FILE *file = std::fopen(dir.file("metrics.jsonl").c_str(), "a");
  std::fputs("{\"step\": 5, \"lo", file); // a kill came in between
  std::fclose(file);
  {
    ASSERT_ASSIGN(MetricsLog log, MetricsLog::open(dir.path(), 3));
    EXPECT_THAT(loggedSteps(dir), testing::ElementsAre(0, 1, 2, 3));
    ASSERT_OK(log.add(reportOf(4)));
  }
  EXPECT_THAT(loggedSteps(dir), testing::ElementsAre(0, 1, 2, 3, 4));
  ASSERT_OK(MetricsLog::writeCurve(dir.path()));
  ASSERT_ASSIGN(std::string svg, readTextFile(dir.file("loss.svg")));
  EXPECT_THAT(svg, testing::HasSubstr("validation"));
  ASSERT_OK(MetricsLog::open(dir.path(), 0));
  EXPECT_TRUE(loggedSteps(dir).empty());
}

size_t countOf(const std::string &text, std::string_view piece) {
  size_t count = 0;
  for (size_t at = text.find(piece); at != text.npos;
       at = text.find(piece, at + 1))
    ++count;
  return count;
}

TEST(LossCurve, FallsFromLeftToRight) {
  std::vector<CurvePoint> train;
  for (int step = 1; step <= 5000; ++step)
    train.push_back({double(step), 10.0 / step});
  std::string svg = lossCurveSvg(train, {{0, 9}, {5000, 1}});
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(countOf(svg, "<polyline"), 2u);
  EXPECT_EQ(countOf(svg, "<circle"), 2u);
  EXPECT_THAT(svg, testing::HasSubstr(">step<"));
  // The first line's points: x rises, and y, which counts downwards, too.
  size_t begin = svg.find("points=\"") + 8;
  std::string points = svg.substr(begin, svg.find('"', begin) - begin);
  double lastX = -1, lastY = -1;
  size_t seen = 0;
  for (size_t at = 0; at != points.npos && at < points.size(); ++seen) {
    double x = 0, y = 0;
    ASSERT_EQ(std::sscanf(points.c_str() + at, "%lf,%lf", &x, &y), 2);
    EXPECT_GT(x, lastX);
    EXPECT_GE(y, lastY);
    lastX = x, lastY = y;
    at = points.find(' ', at);
    at += at != points.npos;
  }
  EXPECT_EQ(seen, 1000u);
}

TEST(LossCurve, DrawsLittleAndNothing) {
  EXPECT_EQ(countOf(lossCurveSvg({}, {}), "<polyline"), 0u);
  std::string one = lossCurveSvg({{1, 3}}, {});
  EXPECT_EQ(countOf(one, "<polyline"), 1u);
  EXPECT_EQ(countOf(one, "nan"), 0u);
  EXPECT_EQ(countOf(one, "inf"), 0u);
}

} // namespace
