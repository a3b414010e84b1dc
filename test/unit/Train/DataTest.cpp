//===- DataTest.cpp - Shards, texts and their order -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Train/Loader.h"
#include "runtime/Train/TextDataset.h"
#include "test/unit/Train/TrainSupport.h"

#include <algorithm>
#include <fcntl.h>
#include <numeric>
#include <set>

using namespace gpt2rt;
using namespace gpt2rt::test;
using testing::ElementsAre;
using Ids = std::vector<int32_t>;

namespace {

TEST(SampleOrder, PermutationsAreBijections) {
  for (uint64_t size : {1, 2, 3, 16, 17, 1000}) {
    Permutation permute(size, 7), other(size, 8);
    std::vector<int> seen(size);
    uint64_t moved = 0, differ = 0;
    for (uint64_t i = 0; i < size; ++i) {
      ASSERT_LT(permute(i), size);
      ++seen[permute(i)];
      moved += permute(i) != i;
      differ += permute(i) != other(i);
    }
    EXPECT_THAT(seen, testing::Each(1)) << size;
    if (size == 1000) {
      EXPECT_GT(moved, 950u);
      EXPECT_GT(differ, 950u);
    }
  }
}

std::vector<uint64_t> epochOf(SampleOrder &order, uint64_t epoch) {
  std::vector<uint64_t> samples;
  for (uint64_t i = 0; i < order.samplesPerEpoch(); ++i)
    samples.push_back(order.at(epoch * order.samplesPerEpoch() + i));
  return samples;
}

TEST(SampleOrder, EveryEpochVisitsEachSampleOnceInAnotherOrder) {
  SampleOrder order({5, 1, 30}, 3, true);
  auto first = epochOf(order, 0), second = epochOf(order, 1);
  EXPECT_NE(first, second);
  std::vector<uint64_t> all(36);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_THAT(first, testing::UnorderedElementsAreArray(all));
  EXPECT_THAT(second, testing::UnorderedElementsAreArray(all));
  // Groups stay together: that is what reads shards one after another.
  auto group = [](uint64_t s) { return s < 5 ? 0 : s < 6 ? 1 : 2; };
  int changes = 0;
  for (size_t i = 1; i < first.size(); ++i)
    changes += group(first[i]) != group(first[i - 1]);
  EXPECT_EQ(changes, 2);
}

TEST(SampleOrder, APositionAloneSaysTheSample) {
  SampleOrder order({5, 1, 30}, 3, true), again({5, 1, 30}, 3, true),
      other({5, 1, 30}, 4, true);
  auto first = epochOf(order, 2);
  EXPECT_EQ(again.at(2 * 36 + 17), first[17]);
  EXPECT_NE(epochOf(other, 2), first);
  SampleOrder plain({5, 1, 30}, 3, false);
  for (uint64_t i = 0; i < 80; ++i)
    EXPECT_EQ(plain.at(i), i % 36);
}

TEST(TokenShards, CutsWindowsThatShareAToken) {
  TempDir dir;
  ASSERT_ASSIGN(TokenShards data,
                TokenShards::open({dir.write("a", shardOf(countingTokens(9))),
                                   dir.write("b", shardOf({1, 2, 3, 4, 5}))},
                                  4, 100));
  EXPECT_THAT(data.groupSizes(), ElementsAre(2u, 1u));
  Ids inputs(4), targets(4);
  ASSERT_OK(data.fill(1, inputs, targets));
  EXPECT_THAT(inputs, ElementsAre(48, 85, 22, 59));
  EXPECT_THAT(targets, ElementsAre(85, 22, 59, 96));
  ASSERT_OK(data.fill(2, inputs, targets));
  EXPECT_THAT(inputs, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(targets, ElementsAre(2, 3, 4, 5));
}

Status openOne(const std::string &path) {
  return TokenShards::open({path}, 4, 100).status();
}

TEST(TokenShards, SaysWhatIsWrongWithAFile) {
  TempDir dir;
  std::string good = shardOf(countingTokens(20));
  auto refused = [&](const std::string &bytes, const char *text) {
    EXPECT_ERROR(openOne(dir.write("x.bin", bytes)), ErrorCode::DataLoss, text);
    EXPECT_ERROR(openOne(dir.file("x.bin")), ErrorCode::DataLoss, "x.bin");
  };
  refused("", "the shard is empty");
  refused("ab", "not a token shard");
  refused(std::string(4000, '\1'), "nanoGPT");
  refused(good.substr(0, 500), "the shard is truncated: 500 bytes");
  refused(good.substr(0, good.size() - 2), "its header says 20 tokens");
  refused(good + "xy", "has 2 bytes after the 20 tokens");
  refused(shardOf({1, 2, 3, 4}), "has 4 tokens, but a window of the plan");
  refused(shardOf({}, 0), "says that it holds 0 tokens");
  std::string version = good;
  version[4] = 2;
  refused(version, "version 2");
  EXPECT_ERROR(openOne(dir.file("none")), ErrorCode::NotFound, "none");
  EXPECT_ERROR(openOne(dir.path()), ErrorCode::InvalidArgument,
               "not a regular file");
}

TEST(TokenShards, IdsPastTheVocabularyAreNamedByFileAndPosition) {
  TempDir dir;
  std::vector<uint16_t> tokens = countingTokens(20);
  tokens[14] = 100;
  ASSERT_ASSIGN(
      TokenShards data,
      TokenShards::open({dir.write("bad.bin", shardOf(tokens))}, 4, 100));
  Ids inputs(4), targets(4);
  ASSERT_OK(data.fill(2, inputs, targets));
  EXPECT_ERROR(data.fill(3, inputs, targets), ErrorCode::OutOfRange,
               "bad.bin': token 14 has id 100, but the model's ids are 0 to "
               "99");
}

TEST(TokenShards, AShardThatChangesIsNoticed) {
  TempDir dir;
  std::string path = dir.write("a.bin", shardOf(countingTokens(400)));
  std::string other = dir.write("b.bin", shardOf(countingTokens(400)));
  ASSERT_ASSIGN(TokenShards data, TokenShards::open({path, other}, 4, 100));
  Ids inputs(4), targets(4);
  ASSERT_OK(data.fill(0, inputs, targets));
  ASSERT_EQ(::truncate(path.c_str(), 1024 + 40), 0);
  EXPECT_ERROR(data.fill(50, inputs, targets), ErrorCode::DataLoss,
               "it was cut since the run began");
  dir.write("b.bin", shardOf(countingTokens(100)));
  EXPECT_ERROR(data.fill(120, inputs, targets), ErrorCode::DataLoss,
               "had 400 tokens when the run began and has 100 now");
}

TEST(TokenShards, ReadsPastTwoAndFourGiB) {
  TempDir dir;
  constexpr uint64_t tokens = 2147483647; // the most that a header can say
  std::string path = dir.write("big.bin", shardOf({}, 2147483647));
  int fd = ::open(path.c_str(), O_WRONLY);
  ASSERT_GE(fd, 0);
  // A hole: the file takes no room.
  ASSERT_EQ(::ftruncate(fd, off_t(shardHeaderBytes + tokens * 2)), 0);
  std::vector<uint16_t> last = {11, 12, 13, 14, 15};
  uint64_t window = (tokens - 1) / 4 - 1;
  ASSERT_EQ(
      ::pwrite(fd, last.data(), 10, off_t(shardHeaderBytes + window * 4 * 2)),
      10);
  ::close(fd);
  ASSERT_ASSIGN(TokenShards data, TokenShards::open({path}, 4, 100));
  EXPECT_EQ(data.totalTokens(), tokens);
  Ids inputs(4), targets(4);
  ASSERT_OK(data.fill(window, inputs, targets));
  EXPECT_THAT(inputs, ElementsAre(11, 12, 13, 14));
  EXPECT_THAT(targets, ElementsAre(12, 13, 14, 15));
}

TEST(TokenShards, PatternsAreSortedAndMustMatch) {
  TempDir dir;
  dir.write("s_2.bin", "");
  dir.write("s_1.bin", "");
  dir.write("t[1].bin", "");
  ASSERT_ASSIGN(
      auto files,
      expandPatterns({dir.file("s_*.bin"), dir.file("t[1].bin")}, "--data"));
  EXPECT_THAT(files, ElementsAre(dir.file("s_1.bin"), dir.file("s_2.bin"),
                                 dir.file("t[1].bin")));
  EXPECT_ERROR(expandPatterns({dir.file("v*.bin")}, "--val"),
               ErrorCode::NotFound, "v*.bin' matches no file");
}

TEST(TextDataset, ReadsLinesAndJsonLines) {
  ASSERT_ASSIGN(auto lines, parseDocuments("one\r\n\n  \ntwo", "a.txt"));
  EXPECT_THAT(lines, ElementsAre("one", "two"));
  ASSERT_ASSIGN(auto objects,
                parseDocuments("{\"text\": \"a\\nb\"}\n\n{\"text\": \"c\"}\n",
                               "a.jsonl"));
  EXPECT_THAT(objects, ElementsAre("a\nb", "c"));
  EXPECT_ERROR(parseDocuments("{\"text\": \"a\"}\n{", "a.jsonl"),
               ErrorCode::DataLoss, "'a.jsonl' line 2 is not valid JSON");
  EXPECT_ERROR(parseDocuments("{\"txt\": \"a\"}", "a.jsonl"),
               ErrorCode::DataLoss, "line 1 is not an object with a \"text\"");
  EXPECT_ERROR(parseDocuments("{\"text\": 3}", "a.jsonl"), ErrorCode::DataLoss,
               "\"text\" is an integer");
}

class TextDatasetTest : public testing::Test {
protected:
  Result<TextDataset> load(const std::string &text, uint32_t maxLength = 0) {
    TextOptions options;
    options.sequence = 6;
    options.vocab = 2000;
    options.maxLength = maxLength;
    options.end = 1234;
    return TextDataset::load({dir.write("t.txt", text)}, tokenizer, options);
  }
  TempDir dir;
  Tokenizer tokenizer = *Tokenizer::load(fixture("tokenizer/files"));
};

TEST_F(TextDatasetTest, PadsBehindTheEndAndIgnoresThePadding) {
  ASSERT_ASSIGN(Ids ids, tokenizer.encode("ab"));
  ASSERT_ASSIGN(TextDataset data, load("ab\n"));
  Ids inputs(6, -5), targets(6, -5), wantedInputs = ids, wantedTargets = ids;
  ASSERT_OK(data.fill(0, inputs, targets));
  wantedTargets.erase(wantedTargets.begin());
  wantedTargets.push_back(1234); // the end is a label
  wantedInputs.resize(6, 1234);
  wantedTargets.resize(6, ignoredTarget);
  EXPECT_EQ(inputs, wantedInputs);
  EXPECT_EQ(targets, wantedTargets);
  EXPECT_EQ(data.scoredTokens(0), ids.size());
}

TEST_F(TextDatasetTest, CutsToTheRowOrTheLimit) {
  std::string text(200, 'a');
  for (size_t i = 1; i < text.size(); i += 2)
    text[i] = ' ';
  ASSERT_ASSIGN(TextDataset data, load(text));
  EXPECT_EQ(data.scoredTokens(0), 6u);
  EXPECT_EQ(data.cutCount(), 1u);
  ASSERT_ASSIGN(TextDataset shorter, load(text, 4));
  EXPECT_EQ(shorter.scoredTokens(0), 3u);
  EXPECT_ERROR(load(text, 8), ErrorCode::OutOfRange,
               "--max-length is 8, but it must be in [2, 7]");
  EXPECT_ERROR(load(text, 1), ErrorCode::OutOfRange, "--max-length is 1");
  EXPECT_ERROR(load("\n \n"), ErrorCode::DataLoss, "has no document");
}

TEST_F(TextDatasetTest, SplitsTheSameWayForASeed) {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += strCat("doc ", i, "\n");
  ASSERT_ASSIGN(TextDataset data, load(text));
  ASSERT_ASSIGN(TextDataset again, load(text));
  ASSERT_ASSIGN(TextDataset other, load(text));
  std::string whole = data.identity();
  ASSERT_ASSIGN(TextDataset held, data.split(0.25, 1));
  EXPECT_EQ(held.count(), 10u);
  EXPECT_EQ(data.count(), 30u);
  EXPECT_EQ(data.totalTokens() + held.totalTokens(), other.totalTokens());
  EXPECT_NE(data.identity(), whole);
  ASSERT_ASSIGN(TextDataset heldAgain, again.split(0.25, 1));
  EXPECT_EQ(heldAgain.identity(), held.identity());
  ASSERT_ASSIGN(TextDataset heldOther, other.split(0.25, 2));
  EXPECT_NE(heldOther.identity(), held.identity());
  ASSERT_ASSIGN(TextDataset one, load("a b c"));
  EXPECT_ERROR(one.split(0.5, 1), ErrorCode::InvalidArgument,
               "leaves none to train on");
}

/// Lengths that mean nothing.
uint64_t lengthOf(uint64_t sample) { return mixBits(sample) % 50; }

TEST(SampleOrder, GroupsVisitAllAndAreOfLikeLengths) {
  constexpr uint64_t size = 103, batch = 4;
  SampleOrder plain({size}, 3, true), grouped({size}, 3, true);
  grouped.groupByLength(lengthOf, batch);
  std::vector<uint64_t> order, before, after;
  uint64_t spread = 0, plainSpread = 0;
  auto spreadOf = [](std::vector<uint64_t> lengths) {
    auto [low, high] = std::minmax_element(lengths.begin(), lengths.end());
    return *high - *low;
  };
  // Windows end where the epochs do not: four of 6 x 4 samples.
  for (uint64_t position = 0; position < 96; position += batch) {
    std::vector<uint64_t> lengths, plainLengths;
    for (uint64_t i = position; i < position + batch; ++i) {
      order.push_back(grouped.at(i));
      lengths.push_back(lengthOf(order.back()));
      plainLengths.push_back(lengthOf(plain.at(i)));
    }
    spread += spreadOf(lengths);
    plainSpread += spreadOf(plainLengths);
  }
  EXPECT_LT(4 * spread, plainSpread);
  // Each window has the samples that it has without grouping.
  for (size_t window = 0; window < 4; ++window) {
    std::multiset<uint64_t> have, want;
    for (size_t i = window * 24; i < (window + 1) * 24; ++i) {
      have.insert(order[i]);
      want.insert(plain.at(i));
    }
    EXPECT_EQ(have, want);
  }
  // Neither long nor short micro-batches come first.
  std::vector<uint64_t> firsts;
  for (size_t i = 0; i < 24; i += batch)
    firsts.push_back(lengthOf(order[i]));
  EXPECT_FALSE(std::is_sorted(firsts.begin(), firsts.end()));
  EXPECT_FALSE(std::is_sorted(firsts.rbegin(), firsts.rend()));
}

TEST(SampleOrder, APositionAloneSaysTheGroupedSample) {
  SampleOrder forward({40}, 3, true), other({40}, 4, true);
  forward.groupByLength(lengthOf, 2);
  other.groupByLength(lengthOf, 2);
  std::vector<uint64_t> order, different;
  for (uint64_t i = 0; i < 100; ++i) {
    order.push_back(forward.at(i));
    different.push_back(other.at(i));
  }
  EXPECT_NE(order, different);
  for (uint64_t i : {99, 0, 57, 20, 19, 21}) {
    SampleOrder fresh({40}, 3, true);
    fresh.groupByLength(lengthOf, 2);
    EXPECT_EQ(fresh.at(i), order[i]);
    EXPECT_EQ(forward.at(i), order[i]);
  }
  // Fewer samples than a micro-batch has rows.
  SampleOrder few({3}, 3, true);
  few.groupByLength(lengthOf, 8);
  std::multiset<uint64_t> seen;
  for (uint64_t i = 0; i < 24; ++i)
    seen.insert(few.at(i));
  EXPECT_EQ(seen.count(0), 8u);
  EXPECT_EQ(seen.count(2), 8u);
}

/// Sample s has s + 1 labels and tokens s * 10 + i; one sample can fail.
class CountingData : public Dataset {
public:
  uint64_t broken = UINT64_MAX;
  std::vector<uint64_t> groupSizes() const override { return {5}; }
  uint64_t scoredTokens(uint64_t sample) const override { return sample + 1; }
  Status fill(uint64_t sample, std::span<int32_t> inputs,
              std::span<int32_t> targets) override {
    if (sample == broken)
      return dataLoss("sample ", sample);
    for (size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = static_cast<int32_t>((sample * 10 + i * 7) % 50);
      targets[i] = i <= sample ? 1 : ignoredTarget;
    }
    return {};
  }
  std::string identity() const override { return ""; }
};

LoaderOptions loaderOptions() {
  LoaderOptions options;
  options.batch = 2;
  options.lengths = {5};
  options.vocab = 50;
  options.depth = 2;
  return options;
}

TEST(Loader, CountsTheLabelsOfAWholeStepAhead) {
  CountingData data;
  LoaderOptions options = loaderOptions();
  options.accumulate = 2;
  Loader loader(data, SampleOrder({5}, 0, false), options);
  // Steps of samples 0 1 2 3, then 4 0 1 2.
  for (auto [scored, step] : {std::pair{3, 10}, {7, 10}, {6, 11}, {5, 11}}) {
    ASSERT_ASSIGN(const MicroBatch *batch, loader.next());
    EXPECT_EQ(batch->scored, uint64_t(scored));
    EXPECT_EQ(batch->stepScored, uint64_t(step));
  }
  EXPECT_GT(loader.rowsPerSecond(), 0);
  EXPECT_GE(loader.takeWaitSeconds(), 0);
  EXPECT_EQ(loader.takeWaitSeconds(), 0);
}

TEST(Loader, SortsRowsStablyByToken) {
  CountingData data;
  Loader loader(data, SampleOrder({5}, 0, false), loaderOptions());
  ASSERT_ASSIGN(const MicroBatch *batch, loader.next());
  Ids order(10);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return batch->inputs[size_t(a)] < batch->inputs[size_t(b)];
  });
  EXPECT_EQ(batch->order, order);
}

TEST(Loader, FillsUpTheLastBatchAndBeginsAnywhere) {
  CountingData data;
  LoaderOptions options = loaderOptions();
  options.firstSample = 2;
  options.endSample = 5;
  Loader loader(data, SampleOrder({5}, 0, false), options);
  ASSERT_ASSIGN(const MicroBatch *batch, loader.next());
  EXPECT_EQ(batch->inputs[0], 20);
  ASSERT_ASSIGN(batch, loader.next());
  EXPECT_EQ(batch->inputs[0], 40);
  EXPECT_EQ(batch->scored, 5u);
  EXPECT_THAT(std::vector(batch->targets.begin() + 5, batch->targets.end()),
              testing::Each(ignoredTarget));
}

TEST(Loader, TakesTheSmallestLengthThatHoldsAllSamples) {
  CountingData data;
  LoaderOptions options = loaderOptions();
  options.lengths = {2, 3, 5};
  options.endSample = 7;
  Loader loader(data, SampleOrder({5}, 0, false), options);
  // Samples 0 1, 2 3, 4 0, then 1 alone; sample s has s + 1 labels.
  for (size_t tokens : {2, 5, 5, 2}) {
    ASSERT_ASSIGN(const MicroBatch *batch, loader.next());
    ASSERT_EQ(batch->inputs.size(), 2 * tokens);
    EXPECT_EQ(batch->targets.size(), 2 * tokens);
    // The order is of these rows alone.
    ASSERT_EQ(batch->order.size(), 2 * tokens);
    Ids rows = batch->order;
    std::sort(rows.begin(), rows.end());
    for (size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(rows[i], int32_t(i));
    EXPECT_EQ(
        uint64_t(std::count(batch->targets.begin(), batch->targets.end(), 1)),
        batch->scored);
  }
  options.lengths = {3, 4, 5};
  options.firstSample = 1;
  Loader longer(data, SampleOrder({5}, 0, false), options);
  ASSERT_ASSIGN(const MicroBatch *batch, longer.next()); // samples 1 2
  EXPECT_EQ(batch->inputs.size(), 6u);
  EXPECT_EQ(batch->inputs[3], 20); // where the second sample begins
}

TEST(Loader, AnErrorComesInItsPlaceAndStays) {
  CountingData data;
  data.broken = 3;
  Loader loader(data, SampleOrder({5}, 0, false), loaderOptions());
  EXPECT_TRUE(loader.next().ok());
  EXPECT_ERROR(loader.next(), ErrorCode::DataLoss, "sample 3");
  EXPECT_ERROR(loader.next(), ErrorCode::DataLoss, "sample 3");
}

TEST(Loader, EndsWhileItsRingIsFull) {
  CountingData data;
  for (int i = 0; i < 20; ++i)
    Loader(data, SampleOrder({5}, 0, false), loaderOptions());
}

} // namespace
