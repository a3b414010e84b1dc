//===- Profile.cpp - gpt2-run profile -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "runtime/Engine/Profiler.h"
#include "runtime/Support/Json.h"
#include "tools/gpt2-run/Commands.h"
#include "tools/gpt2-run/Runner.h"

#include <cmath>
#include <map>

using namespace gpt2rt;
using namespace gpt2rt::tool;

namespace {

struct Flags {
  RunnerFlags runner;
  std::string costs;
  unsigned repeats = 5;
  double peakTflops = 0, peakGbytes = 0;
  bool json = false;
};

/// What the device does at most, as far as it is known.
DeviceRates ratesOf(const Runner &runner, const Flags &flags) {
  DeviceRates rates = {runner.executor().peakFlops(),
                       runner.executor().peakBytes()};
  if (flags.peakTflops > 0)
    rates.flops = flags.peakTflops * 1e12;
  if (flags.peakGbytes > 0)
    rates.bytes = flags.peakGbytes * 1e9;
  return rates;
}

/// "a kernel" or, where the compiler says what it computes, that behind it.
std::string labelOf(const ProfileGroup &group) {
  if (!group.op)
    return group.what;
  std::string rows =
      group.op->rows() ? strCat(", R = ", group.op->rows()) : std::string();
  return strCat(group.what, "  [", group.op->key()->string_view(), rows, "]");
}

void printProgram(const ProgramProfile &profile, const DeviceRates &rates) {
  std::printf("%s: %.3f ms by instruction, %.3f ms as it runs\n",
              profile.program->name()->c_str(), profile.seconds * 1e3,
              profile.replay * 1e3);
  std::printf(
      "      time  share  count     each       floor    GB/s  TFLOP/s\n");
  double floors = 0;
  for (const ProfileGroup &group : profile.groups) {
    double floor = group.floor(rates);
    floors += floor;
    char least[32] = "-";
    if (floor > 0)
      std::snprintf(least, sizeof(least), "%.1f us",
                    floor / double(group.count) * 1e6);
    std::printf("%7.3f ms %5.1f%% %6llu %8.1f us %11s %7.0f %8.2f  %s\n",
                group.seconds * 1e3,
                profile.seconds > 0 ? 100 * group.seconds / profile.seconds : 0,
                static_cast<unsigned long long>(group.count),
                group.seconds / double(group.count) * 1e6, least,
                group.bytes / std::max(group.seconds, 1e-12) * 1e-9,
                group.flops / std::max(group.seconds, 1e-12) * 1e-12,
                labelOf(group).c_str());
  }
  if (floors > 0)
    std::printf("%7.3f ms is the sum of the floors\n", floors * 1e3);
}

Json groupJson(const ProfileGroup &group, const DeviceRates &rates) {
  Json json = {{"what", group.what},       {"count", group.count},
               {"seconds", group.seconds}, {"flops", group.flops},
               {"bytes", group.bytes},     {"floor_seconds", nullptr}};
  if (double floor = group.floor(rates); floor > 0)
    json["floor_seconds"] = floor;
  if (group.op) {
    json["op"] = group.op->key()->str();
    json["rows"] = group.op->rows();
  }
  return json;
}

Json profileJson(const Runner &runner,
                 const std::vector<ProgramProfile> &profiles,
                 const DeviceRates &rates) {
  Json programs = Json::array();
  for (const ProgramProfile &profile : profiles) {
    Json groups = Json::array();
    for (const ProfileGroup &group : profile.groups)
      groups.push_back(groupJson(group, rates));
    programs.push_back({{"name", profile.program->name()->str()},
                        {"seconds", profile.seconds},
                        {"replay_seconds", profile.replay},
                        {"groups", std::move(groups)}});
  }
  const fb::Plan &root = runner.plan().root();
  return {{"model", root.model()->name()->str()},
          {"device", runner.deviceName()},
          {"precision", fb::EnumNamePrecision(root.precision())},
          {"peak_flops", rates.flops},
          {"peak_bytes", rates.bytes},
          {"programs", std::move(programs)},
          {"memory", runner.memoryJson()}};
}

/// The table that gpt2c --remat-costs reads: microseconds of the ops of
/// `accumulate` at their numbers of rows, and the rates reached.
Status writeCosts(const std::string &path, const Runner &runner,
                  const std::vector<ProgramProfile> &profiles) {
  std::map<std::string, std::map<uint64_t, std::pair<double, uint64_t>>> sums;
  for (const ProgramProfile &profile : profiles)
    if (profile.program->role() == fb::Role::Accumulate)
      for (const ProfileGroup &group : profile.groups)
        if (group.op) {
          auto &[seconds, count] =
              sums[group.op->key()->str()][group.op->rows()];
          seconds += group.seconds;
          count += group.count;
        }
  if (sums.empty())
    return failedPrecondition("--costs needs a training plan made by this "
                              "version of gpt2c (--mode=train)");
  const fb::Plan &root = runner.plan().root();
  DeviceRates reached = reachedRates(profiles);
  Json head = {{"device", runner.deviceName()},
               {"target", fb::EnumNameTarget(root.target())},
               {"precision", fb::EnumNamePrecision(root.precision())},
               {"matmul_flops_per_second", std::round(reached.flops)},
               {"row_bytes_per_second", std::round(reached.bytes)}};
  std::string text = head.dump(1);
  text.resize(text.size() - 2); // an op a line instead of "\n}"
  text += ",\n \"ops\": {";
  for (const auto &[key, points] : sums) {
    Json list = Json::array();
    for (const auto &[rows, sum] : points) // to the nanosecond
      list.push_back(
          {rows, std::round(sum.first / double(sum.second) * 1e9) / 1e3});
    text += strCat(key == sums.begin()->first ? "" : ",", "\n  ",
                   Json(key).dump(), ": ", list.dump());
  }
  return writeFile(path, text + "\n }\n}\n");
}

Status profile(Flags &flags) {
  // Speed hardly depends on the weights' values.
  if (flags.runner.model.empty())
    flags.runner.randomWeights = true;
  GPT2_ASSIGN_OR_RETURN(Runner runner, Runner::open(flags.runner));
  GPT2_ASSIGN_OR_RETURN(
      std::vector<ProgramProfile> profiles,
      profilePlan(runner.plan(), runner.executor(), flags.repeats));
  if (!flags.costs.empty())
    GPT2_RETURN_IF_ERROR(writeCosts(flags.costs, runner, profiles));
  DeviceRates rates = ratesOf(runner, flags);
  if (flags.json) {
    printJson(profileJson(runner, profiles, rates));
    return Status::okStatus();
  }
  const fb::Plan &root = runner.plan().root();
  std::printf("%s, %s, %s", root.model()->name()->c_str(),
              fb::EnumNamePrecision(root.precision()),
              runner.deviceName().c_str());
  if (rates.flops > 0 && rates.bytes > 0)
    std::printf(", at most %.0f TFLOP/s and %.0f GB/s", rates.flops * 1e-12,
                rates.bytes * 1e-9);
  std::printf("\n");
  for (const ProgramProfile &each : profiles)
    printProgram(each, rates);
  return Status::okStatus();
}

} // namespace

Command tool::addProfile(CLI::App &app) {
  auto flags = std::make_shared<Flags>();
  CLI::App *sub = app.add_subcommand(
      "profile", "Time of every instruction of a plan, by kernel and shape");
  flags->runner.add(*sub);
  sub->add_option("--costs", flags->costs,
                  "Write the times of a training plan's ops to this file, for "
                  "gpt2c --remat-costs");
  sub->add_option("--repeat", flags->repeats, "Runs to take medians of (5)")
      ->check(CLI::Range(1u, 1000u));
  sub->add_option("--peak-tflops", flags->peakTflops,
                  "Most TFLOP/s of the device (a known GPU's, else none)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--peak-gbytes", flags->peakGbytes,
                  "Most GB/s of its memory (a GPU's by its driver, else none)")
      ->check(CLI::PositiveNumber);
  sub->add_flag("--json", flags->json, "Print one JSON object");
  return [=] { return profile(*flags); };
}
