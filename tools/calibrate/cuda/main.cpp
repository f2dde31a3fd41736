// kvsim-calibrate's entry point. Exit status: 0 done; 1 run-time error or wrong result; 2 bad usage or no device; 130
// interrupted.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "tools/calibrate/cuda/benches.h"
#include "tools/calibrate/cuda/session.h"
#include "tools/calibrate/host/device_state.h"
#include "tools/calibrate/host/dry_run.h"
#include "tools/calibrate/host/host_memory.h"
#include "tools/calibrate/host/interrupt.h"
#include "tools/calibrate/host/nvml.h"
#include "tools/calibrate/host/output.h"
#include "tools/calibrate/host/shapes.h"
#include "tools/calibrate/host/storage.h"

namespace kvsim::calibrate {
namespace {

enum ExitStatus { kDone = 0, kFailed = 1, kBadUsage = 2, kInterrupted = 130 };

using Benchmark = CsvFile (*)(Session&);

const std::map<std::string, Benchmark>& table() {
  static const std::map<std::string, Benchmark> benchmarks{
      {"launch", bench_launch},
      {"memory", bench_memory},
      {"transfer", bench_transfer},
      {"gather", bench_gather},
      {"linear", bench_linear},
      {"experts", bench_experts},
      {"decode_attention", bench_decode_attention},
      {"uneven_attention", bench_uneven_attention},
      {"verify_attention", bench_verify_attention},
      {"quantised_attention", bench_quantised_attention},
      {"prefill_attention", bench_prefill_attention},
      {"latent_attention", bench_latent_attention},
      {"quantise", bench_quantise},
      {"topk", bench_topk},
      {"interference", bench_interference},
      {"collectives", bench_collectives},
  };
  return benchmarks;
}

/// Benchmarks that need no device.
bool of_host(const std::string& name) {
  return name == "storage" || name == "host_memory";
}

/// The file of one of them; a note where there is one.
std::vector<std::string> time_host(const std::string& name, const Arguments& arguments, const OutputFolder& out,
                                   const std::string& gpu, std::string& note) {
  const auto& [quick, budget_s, seed] = std::tie(arguments.quick, arguments.budget_s, arguments.seed);
  HostTable table = name == "storage"
                        ? measure_storage(arguments.storage, quick, budget_s, seed, gpu, program_version())
                        : measure_host_memory(quick, budget_s, seed, gpu, program_version());
  note = std::move(table.note);
  if (table.file.empty()) return {};
  out.write(name + ".csv", table.file.text(true));
  return {name + ".csv"};
}

/// Runs one benchmark and writes its files; returns their names.
std::vector<std::string> run(const std::string& name, Session& session, const OutputFolder& out) {
  if (of_host(name)) {
    std::string note;
    std::vector<std::string> files = time_host(name, session.arguments, out, session.gpu, note);
    if (!note.empty()) session.note(name, note);
    return files;
  }
  if (name == "replay") {
    const ReplayFiles files = bench_replay(session);
    out.write("replay.yaml", files.parameters);
    out.write("replay.csv", files.iterations.text(false));
    return {"replay.yaml", "replay.csv"};
  }
  const CsvFile file = table().at(name)(session);
  if (file.empty()) {
    session.note(name, "nothing was measured, no file");
    return {};
  }
  out.write(name + ".csv", file.text(true));
  return {name + ".csv"};
}

/// A run of the host alone: no device is looked for.
int calibrate_host(const Arguments& arguments) {
  const OutputFolder out(arguments.out, arguments.force);
  MachineRecord machine;
  machine.date = utc_now();
  machine.command = arguments.command_line;
  machine.kvsim_version = program_version();
  machine.seed = arguments.seed;
  for (const std::string& name : arguments.benchmarks) {
    std::string note;
    for (const std::string& file : time_host(name, arguments, out, "", note)) machine.files.push_back(file);
    if (note.empty()) continue;
    machine.notes[name] = note;
    fmt::print(stderr, "{}: {}\n", name, note);
  }
  out.write("machine.yaml", machine_yaml(machine));
  fmt::print("results are in {}; next: kvsim calibrate fit {} --gpu NAME --out host.yaml\n", arguments.out,
             arguments.out);
  return machine.files.empty() ? kFailed : kDone;
}

int calibrate(const Arguments& arguments) {
  if (std::ranges::all_of(arguments.benchmarks, of_host)) return calibrate_host(arguments);
  auto models = catalogue_models(arguments.models);
  const cudaDeviceProp device = open_device(arguments);
  const OutputFolder out(arguments.out, arguments.force);
  MachineRecord machine = describe_device(device, arguments);
  Session session(arguments, device, std::move(models));
  std::string why;
  const std::unique_ptr<Nvml> nvml = Nvml::open(bus_id_of(arguments.device), why);
  if (!nvml) session.note("device_state", fmt::format("clocks, power and throttling are not known: {}", why));
  CsvFile states(device_state_columns());
  int status = kDone;
  for (const std::string& name : arguments.benchmarks) {
    fmt::print(stderr, "{} ...\n", name);
    std::optional<DeviceWatch> watch;
    if (nvml) watch.emplace([&nvml] { return nvml->look(); });
    try {
      stop_if_interrupted();
      for (const std::string& file : run(name, session, out)) machine.files.push_back(file);
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& error) {
      session.note(name, fmt::format("failed, no file: {}", error.what()));
      status = kFailed;
    }
    if (watch) {
      const DeviceState state = state_of(watch->end());
      if (const std::string said = remark(state); !said.empty()) session.note(name, said);
      states.add(device_state_row(session.gpu, session.version, name, state, nvml->limits()));
      out.write("device_state.csv", states.text(false));
    }
    machine.notes = session.notes();
    out.write("machine.yaml", machine_yaml(machine));  // each time, so that files never lie there without it
  }
  fmt::print(
      "results are in {}; next: kvsim calibrate fit {} --gpu NAME --out profile.yaml (NAME: see kvsim list gpus)\n",
      arguments.out, arguments.out);
  return status;
}

int status_of(int argc, char** argv) {
  try {
    note_interrupts();
    const Arguments arguments = parse_arguments(argc, argv);
    if (!arguments.answer.empty()) {
      std::fputs(arguments.answer.c_str(), stdout);
      return std::fflush(stdout) == 0 ? kDone : kFailed;
    }
    if (arguments.dry_run) {
      std::fputs(dry_run(arguments, catalogue_models(arguments.models)).c_str(), stdout);
      return std::fflush(stdout) == 0 ? kDone : kFailed;
    }
    return calibrate(arguments);
  } catch (const Interrupted&) {
    std::fputs("kvsim-calibrate: interrupted; what was finished is in its files\n", stderr);
    return kInterrupted;
  } catch (const schema::InputError& error) {
    fmt::print(stderr, "kvsim-calibrate: {}\n", error.what());
    return kBadUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "kvsim-calibrate: {}\n", error.what());
    return kFailed;
  }
}

}  // namespace
}  // namespace kvsim::calibrate

int main(int argc, char** argv) {
  return kvsim::calibrate::status_of(argc, argv);
}
