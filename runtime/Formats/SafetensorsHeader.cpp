//===- SafetensorsHeader.cpp - The JSON header of safetensors -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Works on parser events rather than a document: a header may be 100 MB, and
// a hostile one must be refused at its first wrong event, not after a tree
// many times its size was built.
//
//===----------------------------------------------------------------------===//

#include "runtime/Formats/SafetensorsHeader.h"
#include "runtime/Support/Checked.h"
#include "runtime/Support/Json.h"

#include <unordered_set>

using namespace gpt2rt;

namespace {

class HeaderParser : public nlohmann::json_sax<Json> {
public:
  SafetensorsHeader header;
  std::string error;
  std::optional<size_t> errorAt;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(number_integer_t) override {
    return unexpected("a negative number");
  }
  bool number_float(number_float_t, const string_t &) override {
    return unexpected("a number that is no 64-bit integer");
  }
  bool binary(binary_t &) override { return unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override;
  bool string(string_t &value) override;
  bool start_object(std::size_t) override;
  bool key(string_t &value) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string &lastToken,
                   const nlohmann::detail::exception &) override {
    errorAt = position;
    return fail(lastToken.empty() ? "unexpected end"
                                  : strCat("unexpected ", quote(lastToken)));
  }

private:
  /// What encloses the next event.
  enum class Place { Start, Top, Metadata, Tensor, Shape, Offsets, End };
  /// The field of a tensor whose value comes next.
  enum class Field { None, DType, Shape, Offsets };

  bool fail(std::string message) {
    error = std::move(message);
    return false;
  }
  bool failTensor(std::string_view message) {
    return fail(
        strCat("tensor ", quote(header.entries.back().name), " ", message));
  }
  bool unexpected(std::string_view what);
  bool newTensor(string_t &value);
  bool tensorField(std::string_view value);
  bool finishTensor();

  Place place = Place::Start;
  Field field = Field::None;
  bool nextIsMetadata = false; // the value of the last key at the top
  bool sawMetadata = false;
  std::string metadataKey;
  bool sawDType = false, sawShape = false, sawOffsets = false;
  std::vector<uint64_t> offsets;
  std::unordered_set<std::string> names;
};

bool HeaderParser::unexpected(std::string_view what) {
  switch (place) {
  case Place::Start:
  case Place::End:
    return fail(strCat("the header holds ", what, ", expected an object"));
  case Place::Top:
    return nextIsMetadata
               ? fail(strCat("__metadata__ is ", what, ", expected an object"))
               : failTensor(strCat("is ", what, ", expected an object"));
  case Place::Metadata:
    return fail(strCat("__metadata__ entry ", quote(metadataKey), " is ", what,
                       ", expected a string"));
  case Place::Shape:
    return failTensor(strCat("has ", what, " in its shape"));
  case Place::Offsets:
    return failTensor(strCat("has ", what, " in its data_offsets"));
  case Place::Tensor:
    break;
  }
  std::string_view names[] = {"a field", "dtype", "shape", "data_offsets"};
  return failTensor(
      strCat("has ", what, " as ", names[static_cast<int>(field)]));
}

bool HeaderParser::start_object(std::size_t) {
  if (place == Place::Start) {
    place = Place::Top;
    return true;
  }
  if (place != Place::Top)
    return unexpected("an object");
  place = nextIsMetadata ? Place::Metadata : Place::Tensor;
  return true;
}

bool HeaderParser::key(string_t &value) {
  switch (place) {
  case Place::Top:
    nextIsMetadata = value == "__metadata__";
    if (!nextIsMetadata)
      return newTensor(value);
    if (std::exchange(sawMetadata, true))
      return fail("duplicate key '__metadata__'");
    return true;
  case Place::Metadata:
    metadataKey = value;
    return header.metadata.emplace(value, "").second ||
           fail(strCat("duplicate key ", quote(value), " in __metadata__"));
  default:
    return tensorField(value);
  }
}

bool HeaderParser::newTensor(string_t &value) {
  if (!names.insert(value).second)
    return fail(strCat("duplicate tensor ", quote(value)));
  header.entries.push_back({});
  header.entries.back().name = std::move(value);
  sawDType = sawShape = sawOffsets = false;
  offsets.clear();
  return true;
}

bool HeaderParser::tensorField(std::string_view value) {
  bool *seen = nullptr;
  if (value == "dtype") {
    field = Field::DType;
    seen = &sawDType;
  } else if (value == "shape") {
    field = Field::Shape;
    seen = &sawShape;
  } else if (value == "data_offsets") {
    field = Field::Offsets;
    seen = &sawOffsets;
  } else {
    return failTensor(strCat("has an unknown field ", quote(value)));
  }
  if (std::exchange(*seen, true))
    return failTensor(strCat("has two fields ", quote(value)));
  return true;
}

bool HeaderParser::string(string_t &value) {
  if (place == Place::Metadata) {
    header.metadata[metadataKey] = std::move(value);
    return true;
  }
  if (place != Place::Tensor || field != Field::DType)
    return unexpected("a string");
  std::optional<DType> dtype = parseDType(value);
  if (!dtype)
    return failTensor(strCat("has dtype ", quote(value),
                             ", which is not supported (supported: F64, F32, "
                             "F16, BF16, I64, I32, I8, U8, BOOL)"));
  header.entries.back().dtype = *dtype;
  return true;
}

bool HeaderParser::number_unsigned(number_unsigned_t value) {
  constexpr size_t maxRank = 64;
  if (place == Place::Shape) {
    std::vector<uint64_t> &shape = header.entries.back().shape;
    shape.push_back(value);
    return shape.size() <= maxRank ||
           failTensor(strCat("has more than ", maxRank, " dimensions"));
  }
  if (place == Place::Offsets) {
    offsets.push_back(value);
    return offsets.size() <= 2 || failTensor("has more than two data_offsets");
  }
  return unexpected("a number");
}

bool HeaderParser::start_array(std::size_t) {
  if (place != Place::Tensor || field == Field::DType)
    return unexpected("a list");
  place = field == Field::Shape ? Place::Shape : Place::Offsets;
  return true;
}

bool HeaderParser::end_array() {
  place = Place::Tensor;
  return true;
}

bool HeaderParser::end_object() {
  if (place == Place::Tensor && !finishTensor())
    return false;
  place = place == Place::Top ? Place::End : Place::Top;
  return true;
}

/// The checks that one entry allows on its own.
bool HeaderParser::finishTensor() {
  SafetensorsEntry &entry = header.entries.back();
  if (!sawDType || !sawShape || !sawOffsets)
    return failTensor(strCat("has no ", !sawDType   ? "dtype"
                                        : !sawShape ? "shape"
                                                    : "data_offsets"));
  if (offsets.size() != 2)
    return failTensor("needs two data_offsets");
  entry.begin = offsets[0];
  entry.end = offsets[1];
  if (entry.end < entry.begin)
    return failTensor(
        strCat("ends at ", entry.end, " before it begins at ", entry.begin));
  std::optional<uint64_t> bytes = checkedProduct(entry.shape);
  if (bytes)
    bytes = checkedMul(*bytes, sizeOf(entry.dtype));
  if (!bytes)
    return failTensor(
        strCat("has shape ", entry.shape, ", which does not fit 64 bits"));
  if (*bytes != entry.end - entry.begin)
    return failTensor(strCat("of ", name(entry.dtype), " ", entry.shape,
                             " needs ", *bytes, " bytes but its data_offsets ",
                             "give ", entry.end - entry.begin));
  return true;
}

} // namespace

Result<SafetensorsHeader>
gpt2rt::parseSafetensorsHeader(std::string_view json) {
  HeaderParser parser;
  if (Json::sax_parse(json.begin(), json.end(), &parser))
    return std::move(parser.header);
  if (parser.errorAt)
    return dataLoss("the header is not valid JSON at byte ", *parser.errorAt,
                    ": ", parser.error);
  return dataLoss(parser.error);
}
