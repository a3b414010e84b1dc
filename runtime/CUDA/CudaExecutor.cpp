//===- CudaExecutor.cpp - Runs plans on an NVIDIA GPU ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Loading does all the work: code for this GPU is picked, arenas are
// allocated, every matmul gets its algorithm, and every program becomes one
// CUDA Graph. A token is then one graph launch and one wait; its value is
// already on the host when the wait ends.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/CudaExecutor.h"

#include "runtime/CUDA/Branches.h"
#include "runtime/CUDA/GraphProgram.h"
#include "runtime/CUDA/HostMirror.h"
#include "runtime/CUDA/Tuner.h"
#include "runtime/CUDA/Upload.h"
#include "runtime/Device/WeightLayout.h"
#include "runtime/Support/Checked.h"

namespace gpt2rt {
namespace {

using namespace cuda;

/// Fewer kernels are not worth a fork and a join.
constexpr size_t leastIndependent = 8;

class CudaExecutor : public Executor {
public:
  CudaExecutor(const Plan &plan, std::unique_ptr<Context> context,
               std::unique_ptr<Kernels> kernels, DeviceArenas arenas,
               HostMirror mirror, const BlasLtTable *products)
      : plan(plan), context(std::move(context)), kernels(std::move(kernels)),
        arenas(std::move(arenas)), mirror(std::move(mirror)),
        products(products) {}
  ~CudaExecutor() override { (void)context->enter(); }

  /// `freeAtStart`: device memory that was free before anything was loaded.
  Status prepare(uint64_t freeAtStart);

  Status bindWeights(const Checkpoint &checkpoint) override;
  Status bindRandomWeights(const RandomWeights &random) override;
  Status run(uint32_t program) override;
  Status write(uint32_t buffer, uint64_t offset, const void *data,
               uint64_t bytes) override;
  Status read(uint32_t buffer, uint64_t offset, void *data,
              uint64_t bytes) override;
  MemoryReport memory() const override;
  double peakFlops() const override {
    return cuda::peakFlops(context->speed(), plan.root().precision());
  }
  Result<std::vector<InstructionTime>> profile(uint32_t program) override;
  double peakBytes() const override { return context->memoryRate(); }
  std::vector<std::string> warnings() const override;
  Result<MatmulTuning> tune(const TuneOptions &options) override;

private:
  /// One program: its steps, and the graph that replays them (none for `init`,
  /// which bindWeights() runs).
  struct Program {
    Steps steps;
    const HostCopy *copy = nullptr;
    std::optional<GraphProgram> graph;
  };

  Status openLibrary();
  Status makeSteps();
  Status warmUpMatmuls();
  Status captureGraphs();
  /// Uploads parameters, then runs what else `init` holds.
  Status bind(const std::vector<Upload> &uploads);
  Status checkRange(uint32_t buffer, uint64_t offset, uint64_t bytes) const;
  Result<const Program *> replayable(uint32_t program) const;

  // In order of construction: graphs go first, the context last.
  const Plan &plan;
  std::unique_ptr<Context> context;
  std::unique_ptr<Kernels> kernels;
  DeviceArenas arenas;
  HostMirror mirror;
  const BlasLtTable *products; ///< null: of the library on this machine
  std::unique_ptr<BlasLt> library;
  TuningUse tuning;
  std::vector<Program> programs;
  uint64_t freeAtStart = 0;
};

Status CudaExecutor::prepare(uint64_t freeAtStart) {
  GPT2_RETURN_IF_ERROR(openLibrary());
  GPT2_RETURN_IF_ERROR(makeSteps());
  GPT2_RETURN_IF_ERROR(warmUpMatmuls());
  GPT2_RETURN_IF_ERROR(captureGraphs());
  this->freeAtStart = freeAtStart;
  return context->synchronize();
}

Status CudaExecutor::openLibrary() {
  for (const fb::Program *program : *plan.root().programs())
    for (const fb::Instruction *instruction : *program->instructions())
      if (instruction->op_type() == fb::Op::Matmul && !library) {
        GPT2_ASSIGN_OR_RETURN(library, products ? BlasLt::create(*products)
                                                : BlasLt::create());
      }
  const fb::Tuning *saved = plan.root().tuning();
  tuning.isHere = saved && library && saved->library() == library->version() &&
                  saved->device()->string_view() == context->name();
  return Status();
}

Status CudaExecutor::makeSteps() {
  StepContext stepContext = {*context, plan,          arenas,
                             *kernels, library.get(), tuning};
  for (const fb::Program *program : *plan.root().programs()) {
    Program &made = programs.emplace_back();
    for (const fb::Instruction *instruction : *program->instructions()) {
      if (instruction->op_type() == fb::Op::LoadWeight)
        continue;
      Result<std::unique_ptr<Step>> step = makeStep(stepContext, *instruction);
      if (!step.ok())
        return step.status().withContext(
            strCat("program '", program->name()->string_view(), "'"));
      made.steps.push_back(*std::move(step));
    }
    made.copy = mirror.copyFor(*program);
  }
  return Status();
}

// The library loads a kernel at its first use, which must not fall into a
// capture. The products read whatever the arenas hold and write activations,
// which no program expects to find.
Status CudaExecutor::warmUpMatmuls() {
  for (const Program &program : programs)
    for (const std::unique_ptr<Step> &step : program.steps)
      if (step->matmul())
        GPT2_RETURN_IF_ERROR(step->enqueue(*context, context->stream(),
                                           /*afterKernel=*/false));
  return context->synchronize();
}

Status CudaExecutor::captureGraphs() {
  for (size_t i = 0; i < programs.size(); ++i) {
    const fb::Program &program = plan.program(static_cast<uint32_t>(i));
    if (program.role() == fb::Role::Init)
      continue;
    Result<GraphProgram> graph = GraphProgram::capture(
        *context, programs[i].steps,
        findIndependentRuns(plan, program, leastIndependent), programs[i].copy);
    if (!graph.ok())
      return graph.status().withContext(
          strCat("program '", program.name()->string_view(), "'"));
    programs[i].graph.emplace(*std::move(graph));
  }
  return Status();
}

Status CudaExecutor::bind(const std::vector<Upload> &uploads) {
  GPT2_RETURN_IF_ERROR(context->enter());
  GPT2_RETURN_IF_ERROR(uploadAll(*context, uploads));
  if (std::optional<uint32_t> init = plan.findProgram("init"))
    GPT2_RETURN_IF_ERROR(enqueueAll(*context, programs[*init].steps));
  return context->synchronize();
}

Status CudaExecutor::bindWeights(const Checkpoint &checkpoint) {
  GPT2_ASSIGN_OR_RETURN(std::vector<WeightLayout> layouts,
                        resolveWeights(plan, checkpoint));
  std::vector<Upload> uploads;
  for (const WeightLayout &layout : layouts)
    uploads.push_back({arenas.address(plan.buffer(layout.buffer())),
                       layout.rows(), layout.rowBytes(),
                       [&layout](uint64_t begin, uint64_t end, std::byte *out) {
                         layout.convert(begin, end, out);
                       }});
  return bind(uploads);
}

Status CudaExecutor::bindRandomWeights(const RandomWeights &random) {
  std::vector<Upload> uploads;
  if (std::optional<uint32_t> init = plan.findProgram("init"))
    for (const fb::Instruction *instruction :
         *plan.program(*init).instructions()) {
      const fb::LoadWeight *load = instruction->op_as_LoadWeight();
      if (!load)
        continue;
      const fb::Buffer &buffer = plan.buffer(load->dst());
      uint64_t rows = rowShape(buffer).rows;
      uploads.push_back({arenas.address(buffer), rows, buffer.bytes() / rows,
                         [this, load, seed = random.seed](
                             uint64_t begin, uint64_t end, std::byte *out) {
                           fillRandomRows(plan, *load, seed, begin, end, out);
                         }});
    }
  return bind(uploads);
}

Result<const CudaExecutor::Program *>
CudaExecutor::replayable(uint32_t program) const {
  if (program >= programs.size() || !programs[program].graph)
    return invalidArgument("the plan has no program ", program,
                           " that can be run");
  return &programs[program];
}

Status CudaExecutor::run(uint32_t program) {
  GPT2_ASSIGN_OR_RETURN(const Program *chosen, replayable(program));
  GPT2_RETURN_IF_ERROR(context->enter());
  GPT2_RETURN_IF_ERROR(chosen->graph->launch());
  GPT2_RETURN_IF_ERROR(context->synchronize());
  mirror.afterRun(chosen->copy != nullptr);
  return Status();
}

Status CudaExecutor::checkRange(uint32_t buffer, uint64_t offset,
                                uint64_t bytes) const {
  uint64_t size = plan.buffer(buffer).bytes();
  if (!rangeFits(offset, bytes, size))
    return outOfRange("bytes [", offset, ", ", offset, " + ", bytes,
                      ") of buffer '", plan.bufferName(buffer), "', which has ",
                      size);
  return Status();
}

Status CudaExecutor::write(uint32_t buffer, uint64_t offset, const void *data,
                           uint64_t bytes) {
  GPT2_RETURN_IF_ERROR(checkRange(buffer, offset, bytes));
  GPT2_RETURN_IF_ERROR(context->enter());
  return mirror.write(buffer, arenas.address(plan.buffer(buffer)) + offset,
                      data, bytes);
}

Status CudaExecutor::read(uint32_t buffer, uint64_t offset, void *data,
                          uint64_t bytes) {
  GPT2_RETURN_IF_ERROR(checkRange(buffer, offset, bytes));
  GPT2_RETURN_IF_ERROR(context->enter());
  return mirror.read(buffer, offset,
                     arenas.address(plan.buffer(buffer)) + offset, data, bytes);
}

/// Measured now: what running has taken counts, too.
MemoryReport CudaExecutor::memory() const {
  Result<uint64_t> free = context->freeBytes();
  uint64_t left = free.ok() ? std::min(*free, freeAtStart) : freeAtStart;
  uint64_t taken = freeAtStart - left;
  return {arenas.use(), taken - std::min(taken, arenas.allocatedBytes()),
          context->ownBytes()};
}

Result<std::vector<InstructionTime>> CudaExecutor::profile(uint32_t program) {
  GPT2_ASSIGN_OR_RETURN(const Program *chosen, replayable(program));
  GPT2_RETURN_IF_ERROR(context->enter());
  GPT2_ASSIGN_OR_RETURN(std::vector<double> seconds,
                        timeSteps(*context, chosen->steps));
  mirror.afterRun(/*copied=*/false);
  std::vector<InstructionTime> times;
  const auto &instructions = *plan.program(program).instructions();
  for (size_t i = 0; i < seconds.size(); ++i) {
    auto index = static_cast<flatbuffers::uoffset_t>(i);
    times.push_back({describe(plan, *instructions[index]), seconds[i]});
  }
  return times;
}

std::vector<std::string> CudaExecutor::warnings() const {
  const fb::Tuning *saved = plan.root().tuning();
  constexpr const char *otherwise =
      ": the library's own choice runs instead, which may round sums "
      "differently; run gpt2-run tune on this machine";
  if (saved && library && !tuning.isHere)
    return {strCat("the plan's products were tuned on ",
                   quote(saved->device()->string_view()), " with cuBLASLt ",
                   saved->library(), ", and this is ", quote(context->name()),
                   " with ", library->version(), otherwise)};
  if (tuning.refused)
    return {strCat("cuBLASLt refuses the tuned algorithms of ", tuning.refused,
                   " of the plan's products", otherwise)};
  return {};
}

Result<MatmulTuning> CudaExecutor::tune(const TuneOptions &options) {
  GPT2_RETURN_IF_ERROR(context->enter());
  Tuner tuner(*context, options);
  for (uint32_t p = 0; p < programs.size(); ++p) {
    if (!programs[p].graph)
      continue;
    // In order: each product is measured on what it will really read.
    const Steps &steps = programs[p].steps;
    for (uint32_t i = 0; i < steps.size(); ++i) {
      if (steps[i]->matmul())
        GPT2_RETURN_IF_ERROR(tuner.tune(*steps[i], {p, i}));
      GPT2_RETURN_IF_ERROR(steps[i]->enqueue(*context, context->stream(),
                                             /*afterKernel=*/false));
    }
    GPT2_RETURN_IF_ERROR(context->synchronize());
    mirror.afterRun(/*copied=*/false);
  }
  GPT2_RETURN_IF_ERROR(captureGraphs());
  MatmulTuning result;
  result.device = context->name();
  result.library = library ? library->version() : 0;
  result.matmuls = tuner.take();
  return result;
}

} // namespace

Result<std::unique_ptr<Executor>>
cuda::createExecutor(const Driver &driver, const Plan &plan,
                     const ExecutorOptions &options,
                     const BlasLtTable *products) {
  if (plan.root().target() != fb::Target::CUDA)
    return failedPrecondition("the plan is for ",
                              fb::EnumNameTarget(plan.root().target()),
                              ", not for a GPU");
  GPT2_ASSIGN_OR_RETURN(std::unique_ptr<Context> context,
                        Context::create(driver, options.device));
  GPT2_ASSIGN_OR_RETURN(uint64_t free, context->freeBytes());
  GPT2_ASSIGN_OR_RETURN(std::unique_ptr<Kernels> kernels,
                        Kernels::load(*context, plan));
  GPT2_ASSIGN_OR_RETURN(DeviceArenas arenas,
                        DeviceArenas::allocate(*context, plan));
  GPT2_ASSIGN_OR_RETURN(HostMirror mirror,
                        HostMirror::create(*context, plan, arenas));
  auto executor = std::make_unique<CudaExecutor>(
      plan, std::move(context), std::move(kernels), std::move(arenas),
      std::move(mirror), products);
  GPT2_RETURN_IF_ERROR(executor->prepare(free));
  return std::unique_ptr<Executor>(std::move(executor));
}

Result<std::unique_ptr<Executor>>
createCudaExecutor(const Plan &plan, const ExecutorOptions &options) {
  GPT2_ASSIGN_OR_RETURN(const Driver *driver, loadDriver());
  return cuda::createExecutor(*driver, plan, options);
}

} // namespace gpt2rt
