//===- TokenizerJson.cpp - tokenizer.json ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The `tokenizers` library's own format describes many tokenizers; GPT-2's
// byte-level BPE is one, and each part that makes another is refused by name.
//
//===----------------------------------------------------------------------===//

#include "runtime/Text/TokenizerJson.h"
#include "runtime/Text/TokenizerFiles.h"

using namespace gpt2rt;

/// The member, or null where it is absent or JSON null.
static const Json *member(const Json &object, const char *key) {
  if (!object.is_object())
    return nullptr;
  auto place = object.find(key);
  return place == object.end() || place->is_null() ? nullptr : &*place;
}

static std::string typeOf(const Json &object) {
  const Json *type = member(object, "type");
  const auto *text = type ? type->get_ptr<const std::string *>() : nullptr;
  return text ? *text : "";
}

static bool isEmptyString(const Json &value) {
  const auto *text = value.get_ptr<const std::string *>();
  return text && text->empty();
}

static bool isTrue(const Json &object, const char *key) {
  const Json *value = member(object, key);
  return value && *value == true;
}

static bool isFalse(const Json &object, const char *key) {
  const Json *value = member(object, key);
  return value && *value == false;
}

Result<std::string> gpt2rt::parseAddedTokenContent(const Json &token,
                                                   std::string_view what) {
  const Json *content = member(token, "content");
  const auto *text =
      content ? content->get_ptr<const std::string *>() : nullptr;
  if (!text || text->empty())
    return dataLoss(what, ": an added token has no content");
  for (const char *option : {"lstrip", "rstrip", "single_word"})
    if (isTrue(token, option))
      return invalidArgument(what, ": added token ", quote(*text), " sets ",
                             option, ", which is not supported");
  return *text;
}

/// normalizer, pre_tokenizer and post_processor must be GPT-2's.
static Status checkPipeline(const Json &document, std::string_view what) {
  if (const Json *normalizer = member(document, "normalizer"))
    return invalidArgument(what, ": normalizer ", quote(typeOf(*normalizer)),
                           " is not supported, GPT-2 has none");
  const Json *split = member(document, "pre_tokenizer");
  if (!split || typeOf(*split) != "ByteLevel")
    return invalidArgument(what, ": pre_tokenizer ",
                           quote(split ? typeOf(*split) : "null"),
                           " is not supported, expected 'ByteLevel'");
  if (isTrue(*split, "add_prefix_space"))
    return invalidArgument(what, ": add_prefix_space is not supported: put "
                                 "the space into the prompt and set it false");
  if (isFalse(*split, "use_regex"))
    return invalidArgument(what, ": pre_tokenizer with use_regex false is not "
                                 "supported");
  const Json *post = member(document, "post_processor");
  if (!post || typeOf(*post) == "ByteLevel")
    return {};
  if (typeOf(*post) != "TemplateProcessing")
    return invalidArgument(what, ": post_processor ", quote(typeOf(*post)),
                           " is not supported");
  // A template of the text alone changes nothing.
  const Json *single = member(*post, "single");
  if (!single || !single->is_array() || single->size() != 1 ||
      !member((*single)[0], "Sequence"))
    return invalidArgument(what, ": a post_processor that adds tokens to the "
                                 "text is not supported");
  return {};
}

static Status checkModel(const Json &model, std::string_view what) {
  // Files written before the type was recorded hold BPE only if they have
  // merges.
  std::string type = typeOf(model);
  if (type != "BPE" && (member(model, "type") || !member(model, "merges")))
    return invalidArgument(what, ": model type ", quote(type),
                           " is not supported, expected 'BPE'");
  if (member(model, "dropout"))
    return invalidArgument(what, ": BPE dropout is not supported: set it null");
  for (const char *flag : {"byte_fallback", "ignore_merges"})
    if (isTrue(model, flag))
      return invalidArgument(what, ": ", flag, " is not supported");
  for (const char *affix : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const Json *value = member(model, affix);
        value && !isEmptyString(*value))
      return invalidArgument(what, ": ", affix, " is not supported");
  return {};
}

/// Merges are "left right", or ["left", "right"] in newer files.
static Status parseModelMerges(const Json &list, std::string_view what,
                               TokenizerFiles &files) {
  if (!list.is_array())
    return dataLoss(what, ": merges is ", jsonTypeName(list),
                    ", expected a list");
  for (const Json &entry : list) {
    std::pair<std::string, std::string> merge;
    const auto *line = entry.get_ptr<const std::string *>();
    bool good = line && splitMerge(*line, merge);
    if (entry.is_array() && entry.size() == 2 && entry[0].is_string() &&
        entry[1].is_string()) {
      merge = {entry[0].get<std::string>(), entry[1].get<std::string>()};
      good = true;
    }
    if (!good)
      return dataLoss(what, ": merge ", files.merges.size(),
                      " is not a pair of tokens");
    files.merges.push_back(std::move(merge));
  }
  return {};
}

static Status parseAddedTokens(const Json &list, std::string_view what,
                               TokenizerFiles &files) {
  if (!list.is_array())
    return dataLoss(what, ": added_tokens is ", jsonTypeName(list),
                    ", expected a list");
  for (const Json &token : list) {
    GPT2_ASSIGN_OR_RETURN(std::string content,
                          parseAddedTokenContent(token, what));
    const Json *idValue = member(token, "id");
    if (!idValue)
      return dataLoss(what, ": added token ", quote(content), " has no id");
    GPT2_ASSIGN_OR_RETURN(int32_t id, parseTokenId(*idValue, content, what));
    if (!files.addedTokens.emplace(content, id).second)
      return dataLoss(what, ": added token ", quote(content),
                      " is listed twice");
  }
  return {};
}

Result<TokenizerFiles> gpt2rt::parseTokenizerJson(std::string_view text,
                                                  std::string_view what) {
  GPT2_ASSIGN_OR_RETURN(Json document, parseJson(text, what));
  const Json *model = member(document, "model");
  if (!model || !model->is_object())
    return dataLoss(what, " has no model: not a tokenizer.json");
  GPT2_RETURN_IF_ERROR(checkModel(*model, what));
  GPT2_RETURN_IF_ERROR(checkPipeline(document, what));
  const Json *vocab = member(*model, "vocab");
  const Json *merges = member(*model, "merges");
  if (!vocab || !merges)
    return dataLoss(what, ": the model has no ", vocab ? "merges" : "vocab");
  TokenizerFiles files;
  GPT2_ASSIGN_OR_RETURN(files.vocab, parseVocabObject(*vocab, what));
  GPT2_RETURN_IF_ERROR(parseModelMerges(*merges, what, files));
  if (const Json *added = member(document, "added_tokens"))
    GPT2_RETURN_IF_ERROR(parseAddedTokens(*added, what, files));
  return files;
}
