//===- KernelShapes.h - Launches that plan-to-cuda wrote down ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#pragma once

#include "test/gpu/GpuKernel.h"

#include <fstream>
#include <map>
#include <sstream>

namespace gpt2rt::gputest {

/// FOLDER/geometry.txt: a line NAME ROWS THREADS SHARED GRID... for every
/// kernel and row count.
class KernelShapes {
public:
  explicit KernelShapes(const std::string &folder) {
    std::ifstream file(folder + "/geometry.txt");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string name;
      int rows = 0;
      LaunchShape shape;
      words >> name >> rows >> shape.blockThreads >> shape.dynamicSharedBytes >>
          shape.grid[0] >> shape.grid[1] >> shape.grid[2];
      shapes[{name, rows}] = shape;
    }
  }

  const LaunchShape &at(const std::string &kernel, int rows) const {
    auto found = shapes.find({kernel, rows});
    if (found == shapes.end())
      require(notFound("geometry.txt has no ", kernel, " of ", rows, " rows"));
    return found->second;
  }

private:
  std::map<std::pair<std::string, int>, LaunchShape> shapes;
};

} // namespace gpt2rt::gputest
