//===- TrainingRun.cpp - A reference of PyTorch's training, and our run ---===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "TrainingRun.h"
#include "runtime/Formats/Checkpoint.h"
#include "runtime/Support/Convert.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>

using namespace gpt2rt;
using namespace gpt2test;

/// A tensor's elements; T is its type in the file.
template <typename T>
static std::vector<T> elements(const TensorView &view) {
  std::vector<T> values(view.bytes / sizeof(T));
  std::memcpy(values.data(), view.data, view.bytes);
  return values;
}

static std::vector<float> floats(const TensorView &view) {
  std::vector<float> values(view.bytes / sizeOf(view.dtype));
  (void)convertElements(view.dtype, view.data, DType::F32, values.data(),
                        values.size());
  return values;
}

/// Our own files: inputs and targets apart, and the settings beside them.
static Status readOwn(TrainingReference &r, const TensorView &tokens) {
  const TensorView *targets = r.file.find("targets"),
                   *rates = r.file.find("learning_rate"),
                   *adamw = r.file.find("adamw");
  if (tokens.shape.size() != 4 || !targets || !rates || !adamw)
    return dataLoss(r.folder, ": not a training reference");
  r.microBatches = tokens.shape[1];
  r.batch = tokens.shape[2];
  r.tokens = tokens.shape[3];
  r.inputs = elements<int32_t>(tokens);
  r.targets = elements<int32_t>(*targets);
  r.rates = elements<double>(*rates);
  auto settings = elements<double>(*adamw);
  r.adamw.beta1 = settings[0];
  r.adamw.beta2 = settings[1];
  r.adamw.eps = settings[2];
  r.adamw.weightDecay = settings[3];
  r.adamw.maxNorm = settings[4];
  return {};
}

/// shared/models/variants/train: batches [S, N, T + 1] of text, every label
/// scored, and the settings of its recipe.json.
static Status readShared(TrainingReference &r) {
  const TensorView *batches = r.file.find("batches");
  if (!batches || batches->shape.size() != 3)
    return dataLoss(r.folder, ": not a training reference");
  r.microBatches = 1;
  r.batch = batches->shape[1];
  r.tokens = batches->shape[2] - 1;
  auto text = elements<int32_t>(*batches);
  for (size_t row = 0; row < text.size(); row += r.tokens + 1) {
    auto begin = text.begin() + static_cast<ptrdiff_t>(row);
    r.inputs.insert(r.inputs.end(), begin, begin + r.tokens);
    r.targets.insert(r.targets.end(), begin + 1, begin + r.tokens + 1);
  }
  for (uint64_t step = 0; step < batches->shape[0]; ++step)
    r.rates.push_back(1e-3 * std::min(1.0, double(step + 1) / 3));
  r.adamw.beta1 = 0.9;
  r.adamw.beta2 = 0.95;
  r.adamw.eps = 1e-8;
  r.adamw.weightDecay = 0.1;
  r.adamw.maxNorm = 1;
  return {};
}

Result<TrainingReference> TrainingReference::load(const std::string &folder) {
  TrainingReference r;
  r.folder = folder;
  GPT2_ASSIGN_OR_RETURN(
      r.file, SafetensorsFile::open(folder + "/reference.safetensors"));
  const TensorView *tokens = r.file.find("tokens"),
                   *losses = r.file.find("loss"),
                   *norms = r.file.find("grad_norm");
  if (!losses || !norms)
    return dataLoss(folder, ": not a training reference");
  GPT2_RETURN_IF_ERROR(tokens ? readOwn(r, *tokens) : readShared(r));
  r.losses = elements<double>(*losses);
  r.norms = elements<double>(*norms);
  r.steps = static_cast<uint32_t>(r.losses.size());
  return r;
}

uint64_t TrainingReference::scored(uint32_t step) const {
  size_t size = targets.size() / steps;
  auto begin = targets.begin() + static_cast<ptrdiff_t>(step * size);
  return std::count_if(begin, begin + static_cast<ptrdiff_t>(size),
                       [](int32_t target) { return target >= 0; });
}

MicroBatch TrainingReference::microBatch(uint32_t step, uint32_t index) const {
  size_t rows = size_t(batch) * tokens;
  auto from = static_cast<ptrdiff_t>((step * microBatches + index) * rows);
  auto to = from + static_cast<ptrdiff_t>(rows);
  MicroBatch micro;
  micro.inputs.assign(inputs.begin() + from, inputs.begin() + to);
  micro.targets.assign(targets.begin() + from, targets.begin() + to);
  micro.order.resize(rows);
  std::iota(micro.order.begin(), micro.order.end(), 0);
  std::stable_sort(
      micro.order.begin(), micro.order.end(),
      [&](int32_t a, int32_t b) { return micro.inputs[a] < micro.inputs[b]; });
  return micro;
}

std::vector<float> TrainingReference::tensor(const std::string &name) const {
  const TensorView *view = file.find(name);
  EXPECT_NE(view, nullptr) << folder << " has no " << name;
  return view ? floats(*view) : std::vector<float>();
}

std::vector<float> TrainingReference::initial(const std::string &name) const {
  auto checkpoint = Checkpoint::open(folder);
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  const TensorView *view = checkpoint.ok() ? checkpoint->find(name) : nullptr;
  EXPECT_NE(view, nullptr) << name;
  return view ? floats(*view) : std::vector<float>();
}

std::string gpt2test::compileTraining(const TrainingReference &reference,
                                      const std::string &flags) {
  static std::map<std::string, std::string> made;
  std::string command = GPT2_BINARY_DIR "/bin/gpt2c " + reference.folder +
                        " --mode=train --target=cpu --precision=fp32 --batch=" +
                        std::to_string(reference.batch) +
                        " --seq=" + std::to_string(reference.tokens) + " " +
                        flags;
  auto [entry, fresh] = made.try_emplace(command);
  if (!fresh)
    return entry->second;
  std::string pattern =
      (std::filesystem::temp_directory_path() / "gpt2-train-XXXXXX").string();
  if (!mkdtemp(pattern.data())) {
    ADD_FAILURE() << "cannot make " << pattern;
    return "";
  }
  std::string plan = pattern + "/train.plan";
  command += " -o " + plan + " >" + pattern + "/log 2>&1";
  if (std::system(command.c_str()) != 0) {
    ADD_FAILURE() << command;
    (void)std::system(("cat " + pattern + "/log").c_str());
    return "";
  }
  return entry->second = plan;
}

TrainingRun::TrainingRun(const TrainingReference &reference,
                         const std::string &path, int threads)
    : reference(reference) {
  auto open = [&]() -> Status {
    GPT2_ASSIGN_OR_RETURN(Plan plan, Plan::load(path));
    loaded = std::make_unique<Plan>(std::move(plan));
    ExecutorOptions options;
    options.threads = threads;
    GPT2_ASSIGN_OR_RETURN(executor, createCpuExecutor(*loaded, options));
    GPT2_ASSIGN_OR_RETURN(Checkpoint checkpoint,
                          Checkpoint::open(reference.folder));
    GPT2_RETURN_IF_ERROR(executor->bindWeights(checkpoint));
    GPT2_ASSIGN_OR_RETURN(trained, findParameters(*loaded));
    GPT2_ASSIGN_OR_RETURN(TrainSession made,
                          TrainSession::create(*loaded, *executor));
    GPT2_RETURN_IF_ERROR(made.setState(made.initialLossScale(), 0, 0, 0));
    session = std::move(made);
    return {};
  };
  Status status = open();
  EXPECT_TRUE(status.ok()) << status.message();
}

void TrainingRun::beginStep(uint32_t step, uint64_t scored) {
  StepParams params = reference.adamw;
  params.learningRate = reference.rates[step];
  params.appliedStep = applied + 1;
  params.scored = scored;
  session->seed(0, step);
  Status status = session->beginStep(params);
  ASSERT_TRUE(status.ok()) << status.message();
}

void TrainingRun::accumulate(uint32_t step) {
  for (uint32_t i = 0; i < reference.microBatches; ++i)
    accumulate(reference.microBatch(step, i), i * reference.batch);
}

void TrainingRun::accumulate(const MicroBatch &batch, uint64_t firstSample) {
  Status status = session->accumulate(batch, firstSample);
  ASSERT_TRUE(status.ok()) << status.message();
}

double TrainingRun::validate(const MicroBatch &batch) {
  Result<double> sum = session->validate(batch);
  EXPECT_TRUE(sum.ok()) << sum.status().message();
  return sum.ok() ? *sum : NAN;
}

StepOutcome TrainingRun::update() {
  Result<StepOutcome> outcome = session->update();
  if (!outcome.ok()) {
    ADD_FAILURE() << outcome.status().message();
    return {};
  }
  applied += !outcome->skipped;
  return *outcome;
}

StepOutcome TrainingRun::step(uint32_t step) {
  beginStep(step);
  accumulate(step);
  return update();
}

uint32_t TrainingRun::globalNamed(const std::string &name) const {
  for (uint32_t i = 0; i < loaded->root().buffers()->size(); ++i)
    if (loaded->buffer(i).program() < 0 && loaded->bufferName(i) == name)
      return i;
  ADD_FAILURE() << "the plan has no buffer " << name;
  return 0;
}

std::vector<float> TrainingRun::read(const Parameter &parameter,
                                     const std::string &suffix) {
  std::string name(loaded->bufferName(parameter.value));
  std::vector<float> held(parameter.planSize()), values(parameter.fileSize());
  Status status = executor->readGlobal(
      globalNamed(name + suffix), 0, held.data(), held.size() * sizeof(float));
  EXPECT_TRUE(status.ok()) << status.message();
  toFileLayout(parameter, held.data(), values.data());
  return values;
}

void TrainingRun::write(const Parameter &parameter,
                        const std::vector<float> &values) {
  std::vector<float> held(parameter.planSize());
  toPlanLayout(parameter, values.data(), held.data());
  Status status = executor->writeGlobal(parameter.value, 0, held.data(),
                                        held.size() * sizeof(float));
  EXPECT_TRUE(status.ok()) << status.message();
}

double TrainingRun::lossSum() {
  Result<double> sum = session->lossSum();
  EXPECT_TRUE(sum.ok()) << sum.status().message();
  return sum.ok() ? *sum : NAN;
}

std::vector<uint32_t> TrainingRun::savedBuffers() const {
  std::vector<uint32_t> buffers;
  for (const Parameter &p : trained)
    for (uint32_t buffer : {p.value, p.moment1, p.moment2})
      buffers.push_back(buffer);
  return buffers;
}

TrainingSnapshot TrainingRun::snapshot() {
  TrainingSnapshot snapshot;
  for (uint32_t buffer : savedBuffers()) {
    auto &bytes = snapshot.globals.emplace_back(loaded->buffer(buffer).bytes());
    Status status = executor->readGlobal(buffer, 0, bytes.data(), bytes.size());
    EXPECT_TRUE(status.ok()) << status.message();
  }
  Status status =
      executor->read(*loaded->findState("train_state"), 0,
                     snapshot.trainState.data(), sizeof(snapshot.trainState));
  EXPECT_TRUE(status.ok()) << status.message();
  return snapshot;
}

void TrainingRun::restore(const TrainingSnapshot &snapshot) {
  std::vector<uint32_t> buffers = savedBuffers();
  ASSERT_EQ(buffers.size(), snapshot.globals.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    Status status = executor->writeGlobal(
        buffers[i], 0, snapshot.globals[i].data(), snapshot.globals[i].size());
    ASSERT_TRUE(status.ok()) << status.message();
  }
  applied = static_cast<uint64_t>(snapshot.trainState[6]);
  Status status =
      session->setState(snapshot.trainState[0], snapshot.trainState[1], applied,
                        static_cast<uint64_t>(snapshot.trainState[7]));
  ASSERT_TRUE(status.ok()) << status.message();
}
