//===- CommandLine.cpp - gpt2c's flags
//--------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "tools/gpt2c/CommandLine.h"

#include "runtime/Support/ByteSize.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <map>
#include <thread>

using namespace mlir::gpt2c;
using namespace gpt2rt;

namespace {

using Names = std::vector<std::string>;

const Names cpuArchs = {"x86-64-v3", "x86-64-v4"};
// Ascending: the first one of a plan also gets PTX, which newer GPUs can run.
const Names cudaArchs = {"sm_80", "sm_86",  "sm_89",
                         "sm_90", "sm_100", "sm_120"};
// One for each generation in wide use; PTX of the first serves the others.
const Names defaultCudaArchs = {"sm_80", "sm_90"};
const Names cpuPrecisions = {"fp32", "bf16"};
const Names cudaPrecisions = {"fp32", "tf32", "fp16", "bf16"};
const Names modes = {"generate", "eval", "train"}; // as Mode has them
const Names targets = {"cpu", "cuda"};
const Names remats = {"none", "block", "auto"}; // as RematMode has them
const Names storages = {"full", "lean"};        // as Storage has them
const Names emits = {"gpt2", "plan", "cuda", "plan-text"};

std::string joined(const Names &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

bool contains(const Names &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// An error for a value that is not one of `names`.
Status unknownValue(std::string_view flag, const std::string &value,
                    const Names &names) {
  std::string near = nearestName(value, names);
  return invalidArgument(flag, "=", quote(value), " is not one of ",
                         joined(names),
                         near.empty() ? "" : "; did you mean " + near + "?");
}

Status checkOneOf(std::string_view flag, const std::string &value,
                  const Names &names) {
  return contains(names, value) ? Status() : unknownValue(flag, value, names);
}

/// The architectures of `list`, without repetition, in the target's order.
Result<Names> parseArchs(const std::string &list, bool cuda) {
  const Names &known = cuda ? cudaArchs : cpuArchs;
  if (list.empty())
    return cuda ? defaultCudaArchs : cpuArchs;
  Names wanted;
  size_t begin = 0;
  while (begin <= list.size()) {
    size_t end = std::min(list.find(',', begin), list.size());
    std::string arch = list.substr(begin, end - begin);
    // sm_90 code uses what only its "a" variant has; both spellings mean it.
    if (cuda && arch == "sm_90a")
      arch = "sm_90";
    if (!contains(known, arch)) {
      const Names &other = cuda ? cpuArchs : cudaArchs;
      if (contains(other, arch))
        return invalidArgument("--arch=", arch,
                               " needs --target=", cuda ? "cpu" : "cuda");
      return unknownValue("--arch", arch, known);
    }
    wanted.push_back(arch);
    begin = end + 1;
  }
  Names result;
  for (const std::string &arch : known)
    if (contains(wanted, arch))
      result.push_back(arch);
  return result;
}

/// The text that the flags were given as, before it is checked.
struct RawFlags {
  std::string mode = "generate", target = "cpu", arch, emit;
  std::string seqBuckets, storage, headChunks, remat, memoryBudget, fit;
};

/// Numbers with commas between them, or auto.
Status parseSeqBuckets(const std::string &text, CommandLine &line) {
  line.halveSeq = text == "auto";
  if (text.empty() || line.halveSeq)
    return Status();
  const char *at = text.data(), *end = at + text.size();
  while (true) {
    int64_t length = 0;
    auto parsed = std::from_chars(at, end, length);
    if (parsed.ec != std::errc() || length < 1 ||
        (parsed.ptr != end && *parsed.ptr != ','))
      return invalidArgument("--seq-buckets=", text,
                             " is neither auto nor numbers of at least 1 with "
                             "commas between them, such as 128,256,512");
    line.seqBuckets.push_back(length);
    if (parsed.ptr == end)
      return Status();
    at = parsed.ptr + 1;
  }
}

/// A number, or auto.
Status parseHeadChunks(const std::string &text, CommandLine &line) {
  if (text.empty())
    return Status();
  int64_t chunks = 0;
  const char *end = text.data() + text.size();
  auto parsed = std::from_chars(text.data(), end, chunks);
  bool isNumber = parsed.ec == std::errc() && parsed.ptr == end && chunks > 0;
  if (!isNumber && text != "auto")
    return invalidArgument("--lm-head-chunks=", text,
                           " is neither auto nor a number of at least 1");
  line.headChunks = isNumber ? chunks : 0;
  return Status();
}

/// The flags that say what a training plan may take.
Status checkMemoryFlags(const RawFlags &raw, CommandLine &line) {
  const std::pair<const char *, bool> given[] = {
      {"--seq-buckets", !raw.seqBuckets.empty()},
      {"--storage", !raw.storage.empty()},
      {"--lm-head-chunks", !raw.headChunks.empty()},
      {"--remat", !raw.remat.empty()},
      {"--memory-budget", !raw.memoryBudget.empty()},
      {"--remat-costs", !line.costTable.empty()},
      {"--fit", !raw.fit.empty()},
      {"--tokens-per-step", line.tokensPerStep != 0}};
  for (auto [flag, isGiven] : given)
    if (isGiven && line.mode != Mode::Train)
      return invalidArgument(flag, " is for --mode=train");
  if (!raw.storage.empty()) {
    GPT2_RETURN_IF_ERROR(checkOneOf("--storage", raw.storage, storages));
    line.storage = raw.storage == "lean" ? Storage::Lean : Storage::Full;
  }
  if (line.storage == Storage::Lean && line.precision != "fp16" &&
      line.precision != "bf16")
    return invalidArgument(
        "--storage=lean keeps gradients in 16 bits: it needs "
        "--precision=bf16 or fp16");
  GPT2_RETURN_IF_ERROR(parseSeqBuckets(raw.seqBuckets, line));
  GPT2_RETURN_IF_ERROR(parseHeadChunks(raw.headChunks, line));
  if (!raw.remat.empty()) {
    GPT2_RETURN_IF_ERROR(checkOneOf("--remat", raw.remat, remats));
    auto mode = std::find(remats.begin(), remats.end(), raw.remat);
    line.remat = static_cast<RematMode>(mode - remats.begin());
  }
  if (!raw.memoryBudget.empty()) {
    GPT2_ASSIGN_OR_RETURN(line.memoryBudget,
                          parseByteSize("--memory-budget", raw.memoryBudget));
  }
  if (!raw.fit.empty()) {
    GPT2_ASSIGN_OR_RETURN(line.fit, parseByteSize("--fit", raw.fit));
  }
  if (line.headChunks == 0 && raw.memoryBudget.empty() && raw.fit.empty())
    return invalidArgument("--lm-head-chunks=auto needs --memory-budget=SIZE "
                           "to choose by");
  if (line.remat == RematMode::Auto && !line.memoryBudget && !line.fit)
    return invalidArgument("--remat=auto needs --memory-budget=SIZE to choose "
                           "by");
  if (line.fit && line.memoryBudget)
    return invalidArgument("--fit and --memory-budget both say how much memory "
                           "there is: give one");
  if (line.fit && line.tokensPerStep == 0)
    return invalidArgument("--fit needs --tokens-per-step=N, the tokens of an "
                           "optimizer step");
  if (line.tokensPerStep != 0 && !line.fit)
    return invalidArgument("--tokens-per-step is for --fit; gpt2-run train "
                           "takes its own");
  return Status();
}

Status checkFlags(const RawFlags &raw, CommandLine &line) {
  GPT2_RETURN_IF_ERROR(checkOneOf("--mode", raw.mode, modes));
  GPT2_RETURN_IF_ERROR(checkOneOf("--target", raw.target, targets));
  auto mode = std::find(modes.begin(), modes.end(), raw.mode);
  line.mode = static_cast<Mode>(mode - modes.begin());
  line.cuda = raw.target == "cuda";
  GPT2_ASSIGN_OR_RETURN(line.archs, parseArchs(raw.arch, line.cuda));
  GPT2_RETURN_IF_ERROR(
      checkOneOf("--precision", line.precision, cudaPrecisions));
  if (!line.cuda && !contains(cpuPrecisions, line.precision))
    return invalidArgument("--precision=", line.precision,
                           " needs --target=cuda; the CPU has ",
                           joined(cpuPrecisions));
  GPT2_RETURN_IF_ERROR(checkMemoryFlags(raw, line));
  if (!raw.emit.empty()) {
    GPT2_RETURN_IF_ERROR(checkOneOf("--emit", raw.emit, emits));
    const std::map<std::string, Emit> byName = {{"gpt2", Emit::GPT2},
                                                {"plan", Emit::Plan},
                                                {"cuda", Emit::Cuda},
                                                {"plan-text", Emit::PlanText}};
    line.emit = byName.at(raw.emit);
  }
  if (line.emit == Emit::Cuda && !line.cuda)
    return invalidArgument("--emit=cuda needs --target=cuda");
  if (line.emit == Emit::PlanFile && line.output.empty())
    return invalidArgument("say where the plan goes with -o PLAN");
  return Status();
}

/// What CLI11 did not know: MLIR's flags, or an error.
Status checkExtras(const CLI::App &app, CommandLine &line) {
  for (const std::string &extra : app.remaining()) {
    if (extra.rfind("--mlir-", 0) == 0) {
      line.mlirFlags.push_back(extra);
      continue;
    }
    if (extra.empty() || extra[0] != '-')
      return invalidArgument("unexpected argument ", quote(extra),
                             "; gpt2c takes one MODEL");
    std::string name = extra.substr(0, extra.find('='));
    Names known;
    for (const CLI::Option *option : app.get_options())
      for (const std::string &longName : option->get_lnames())
        known.push_back("--" + longName);
    std::string near = nearestName(name, known);
    return invalidArgument("unknown flag ", quote(name),
                           near.empty() ? "; see gpt2c --help"
                                        : "; did you mean " + near + "?");
  }
  return Status();
}

void addFlags(CLI::App &app, RawFlags &raw, CommandLine &line) {
  app.add_option("MODEL", line.model,
                 "Hugging Face directory, config.json, preset name or .mlir")
      ->required();
  app.add_option("-o", line.output, "The plan file to write")
      ->type_name("PLAN");
  app.add_option("--mode", raw.mode,
                 "generate (default): text; eval: perplexity; train: one "
                 "micro-batch and the optimizer's step");
  app.add_option("--target", raw.target, "cpu (default) or cuda");
  app.add_option("--arch", raw.arch,
                 "Comma-separated; cpu: " + joined(cpuArchs) +
                     " (default: both); cuda: " + joined(cudaArchs) +
                     " (default: " + joined(defaultCudaArchs) + ")");
  app.add_option("--batch", line.batch, "Sequences at a time (default: 1)")
      ->type_name("N");
  app.add_option("--seq", line.seq,
                 "Positions of a sequence (default: all the model has)")
      ->type_name("N");
  app.add_option("--seq-buckets", raw.seqBuckets,
                 "Shorter lengths that a training plan has programs for, too, "
                 "such as 128,256,512, or auto: halves of --seq down to 64; a "
                 "micro-batch of short texts runs in the smallest that holds "
                 "it (default: none)")
      ->type_name("N,...");
  app.add_option("--chunk", line.chunk,
                 "Prompt tokens a prefill call takes (default: 256 on the "
                 "CPU, 512 on CUDA, at most --seq)")
      ->type_name("N");
  app.add_option("--dropout", line.dropout,
                 "Dropout in training, at least 0 and less than 1 (default: "
                 "the model's)")
      ->type_name("P");
  app.add_option("--precision", line.precision,
                 "fp32 (default), bf16; on cuda also tf32, fp16");
  app.add_option("--storage", raw.storage,
                 "Of 16-bit training: full (default); lean: gradients in 16 "
                 "bits and no 16-bit weights, for steps of one micro-batch; "
                 "--memory-budget may choose lean")
      ->type_name("KIND");
  app.add_option("--lm-head-chunks", raw.headChunks,
                 "Parts of the rows that the LM head of a training plan runs "
                 "one by one (default: 1, or more where --memory-budget asks "
                 "for it: auto); another number adds up in another order")
      ->type_name("N");
  app.add_option("--remat", raw.remat,
                 "What training computes again instead of keeping it: none "
                 "(default), block: all but each layer's input; auto: what "
                 "--memory-budget asks for");
  app.add_option("--memory-budget", raw.memoryBudget,
                 "Most memory of a training plan, such as 22GiB: finds the "
                 "cheapest plan that fits")
      ->type_name("SIZE");
  app.add_option("--remat-costs", line.costTable,
                 "Times of ops, measured by gpt2-run profile --costs, to "
                 "choose by what to compute again; h200 (default for sm_90 in "
                 "16 bits): the table of that GPU; none: rates")
      ->type_name("FILE");
  app.add_option("--fit", raw.fit,
                 "Memory of the device, such as 24GiB: chooses --precision, "
                 "--batch and --remat of a training plan")
      ->type_name("SIZE");
  app.add_option("--tokens-per-step", line.tokensPerStep,
                 "Tokens of an optimizer step, for --fit")
      ->type_name("N");
  app.add_option("--emit", raw.emit,
                 "Print gpt2, plan (MLIR), cuda (source) or plan-text and "
                 "write no plan; goes to -o or standard output");
  app.add_flag("--remarks", line.remarks,
               "Explain what the passes did and did not do");
  app.add_option("--threads", line.threads,
                 "Threads of the compiler (default: all)")
      ->type_name("N");
}

Status checkNumbers(const CLI::App &app, CommandLine &line) {
  const std::pair<const char *, int64_t> counts[] = {
      {"--batch", line.batch}, {"--seq", line.seq}, {"--chunk", line.chunk}};
  for (auto [flag, value] : counts)
    if (app.count(flag) && value < 1)
      return invalidArgument(flag, "=", value, " must be at least 1");
  if (app.count("--tokens-per-step") && line.tokensPerStep < 1)
    return invalidArgument("--tokens-per-step=", line.tokensPerStep,
                           " must be at least 1");
  if (line.fit && app.count("--batch"))
    return invalidArgument("--fit chooses --batch: give one of them");
  if (app.count("--threads") && line.threads == 0)
    return invalidArgument("--threads=0 must be at least 1");
  if (app.count("--chunk") && line.mode != Mode::Generate)
    return invalidArgument("--chunk is for --mode=generate; ",
                           modes[size_t(line.mode)],
                           " takes whole windows of --seq tokens");
  if (line.dropout && line.mode != Mode::Train)
    return invalidArgument("--dropout is for --mode=train; nothing is dropped "
                           "otherwise");
  if (line.dropout && !(*line.dropout >= 0 && *line.dropout < 1))
    return invalidArgument("--dropout=", *line.dropout,
                           " must be at least 0 and less than 1");
  // An .mlir file holds its own programs.
  bool isMlir = line.model.size() > 5 &&
                line.model.compare(line.model.size() - 5, 5, ".mlir") == 0;
  for (const char *flag :
       {"--mode", "--batch", "--seq", "--seq-buckets", "--chunk", "--dropout"})
    if (isMlir && app.count(flag))
      return invalidArgument(flag, " has no meaning for ", quote(line.model),
                             ", which holds its own programs");
  if (line.threads == 0)
    line.threads = std::max(1u, std::thread::hardware_concurrency());
  return Status();
}

} // namespace

Result<std::optional<CommandLine>> mlir::gpt2c::parseCommandLine(int argc,
                                                                 char **argv) {
  CLI::App app("gpt2c compiles a GPT-2 model into a plan that gpt2-run runs.\n"
               "MLIR's own flags (--mlir-print-ir-after-all, "
               "--mlir-pass-statistics, --mlir-timing, ...) are taken too.",
               "gpt2c");
  app.set_version_flag("--version", "gpt2c " GPT2C_VERSION);
  app.allow_extras();
  CommandLine line;
  line.arguments.assign(argv + 1, argv + argc);
  RawFlags raw;
  addFlags(app, raw, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &answer) { // --help, --version
    app.exit(answer);
    return std::optional<CommandLine>();
  } catch (const CLI::RequiredError &) {
    return invalidArgument("no MODEL given; try gpt2c gpt2 -o gpt2.plan, or "
                           "gpt2c --help");
  } catch (const CLI::ConversionError &error) {
    // CLI11 says "Could not convert: --batch = two".
    std::string text = error.what();
    text = text.substr(text.find(": ") + 2);
    bool isReal = text.rfind("--dropout", 0) == 0;
    return invalidArgument(text, isReal ? " is not a number"
                                        : " is not a whole number in range");
  } catch (const CLI::ParseError &error) {
    return invalidArgument(error.what());
  }
  GPT2_RETURN_IF_ERROR(checkExtras(app, line));
  line.hasPrecision = app.count("--precision") > 0;
  GPT2_RETURN_IF_ERROR(checkFlags(raw, line));
  GPT2_RETURN_IF_ERROR(checkNumbers(app, line));
  return std::optional(std::move(line));
}
