//===- HostKernels.cpp - Emitted CUDA text, compiled for the host ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "HostKernels.h"
#include "compiler/Codegen/CUDA/CUDACodegen.h"
#include "compiler/Codegen/CUDA/KernelGeometry.h"
#include "compiler/Codegen/CUDA/MatvecEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace gpt2test;

static std::string launcherOf(const std::string &name) {
  return "extern \"C\" void run_" + name +
         "(const unsigned *hostGrid, unsigned hostThreads, void **hostArgs) "
         "{ hostLaunch(" +
         name + ", hostGrid, hostThreads, hostArgs); }\n";
}

void HostKernels::addUnits() {
  const std::string shim = "#include \"test/unit/CodegenCUDA/HostShim.h\"\n";
  mlir::OwningOpRef<mlir::ModuleOp> generated =
      mlir::ModuleOp::create(module->getLoc());
  std::string launchers;
  units.resize(1);
  for (auto kernel : module->getOps<mlir::plan::KernelOp>()) {
    std::string name = kernel.getSymName().str();
    if (kernel.isRow() || kernel.isMatvec()) {
      generated->push_back(kernel->clone());
      launchers += launcherOf(name);
      unitOf[name] = 0;
      continue;
    }
    mlir::OwningOpRef<mlir::ModuleOp> alone =
        mlir::ModuleOp::create(kernel.getLoc());
    alone->push_back(kernel->clone());
    unitOf[name] = units.size();
    units.push_back({"#define attention attention_" + name +
                     "\n#define embed embed_" + name +
                     "\n#define sampling sampling_" + name + "\n" + shim +
                     mlir::gpt2c::emitCudaSource(*alone) + launcherOf(name)});
  }
  units[0].source = shim + mlir::gpt2c::matvecSource().str() +
                    mlir::gpt2c::emitCudaSource(*generated) + launchers;
}

HostKernels::HostKernels(const std::string &text) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::plan::PlanDialect, mlir::linalg::LinalgDialect,
                  mlir::arith::ArithDialect, mlir::math::MathDialect,
                  mlir::tensor::TensorDialect>();
  context.appendDialectRegistry(registry);
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) {
    message = "cannot parse the module";
    return;
  }
  std::string pattern =
      (std::filesystem::temp_directory_path() / "gpt2-host-XXXXXX").string();
  folder = mkdtemp(pattern.data());
  addUnits();
}

void *HostKernels::build(unsigned number) {
  Unit &unit = units[number];
  if (unit.library)
    return unit.library;
  std::string base = folder + "/" + std::to_string(number);
  std::ofstream(base + ".cpp") << unit.source;
  // Contraction off, as NVRTC is told.
  std::string command = std::string(GPT2_HOST_CXX) +
                        " -std=c++20 -O1 -ffp-contract=off -fPIC -shared "
                        "-w -I" GPT2_SOURCE_DIR " -o " +
                        base + ".so " + base + ".cpp";
  if (std::system(command.c_str()) != 0) {
    message = "the emitted text does not compile: " + command;
    return nullptr;
  }
  unit.library = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!unit.library)
    message = dlerror();
  return unit.library;
}

HostKernels::~HostKernels() {
  for (Unit &unit : units)
    if (unit.library)
      dlclose(unit.library);
  if (!folder.empty() && message.empty())
    std::filesystem::remove_all(folder);
}

HostKernels &HostKernels::of(const std::string &file) {
  static std::map<std::string, HostKernels> all;
  std::ifstream stream(GPT2_SOURCE_DIR "/test/Codegen/CUDA/" + file);
  std::stringstream text;
  text << stream.rdbuf();
  return all.try_emplace(file, text.str()).first->second;
}

void HostKernels::run(const std::string &name, std::vector<Buffer *> buffers,
                      int rows) {
  auto kernel = module->lookupSymbol<mlir::plan::KernelOp>(name);
  ASSERT_TRUE(kernel) << name;
  auto geometry = mlir::gpt2c::geometryFor(kernel, rows);
  ASSERT_TRUE(succeeded(geometry)) << name;
  void *library = build(unitOf.at(name));
  ASSERT_EQ(message, "");
  using Launch = void (*)(const unsigned *, unsigned, void **);
  auto launch =
      reinterpret_cast<Launch>(dlsym(library, ("run_" + name).c_str()));
  ASSERT_NE(launch, nullptr) << name;
  std::vector<void *> pointers, arguments;
  for (Buffer *buffer : buffers)
    pointers.push_back(buffer->bytes.data());
  for (void *&pointer : pointers)
    arguments.push_back(&pointer);
  arguments.push_back(&rows);
  // Read by kernels that drop out only.
  int number = dropoutNumber;
  arguments.push_back(&number);
  unsigned grid[] = {geometry->gridX, geometry->gridY, geometry->gridZ};
  launch(grid, geometry->blockThreads, arguments.data());
}
