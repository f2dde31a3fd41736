// kvsim-calibrate's entry point. Exit status: 0 done; 1 run-time error or wrong result; 2 bad usage or no device; 130
// interrupted.
#include <cstdio>
#include <exception>
#include <map>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "tools/calibrate/cuda/benches.h"
#include "tools/calibrate/cuda/session.h"
#include "tools/calibrate/host/interrupt.h"
#include "tools/calibrate/host/output.h"
#include "tools/calibrate/host/shapes.h"

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
      {"decode_attention", bench_decode_attention},
      {"uneven_attention", bench_uneven_attention},
      {"verify_attention", bench_verify_attention},
      {"quantised_attention", bench_quantised_attention},
      {"prefill_attention", bench_prefill_attention},
      {"quantise", bench_quantise},
      {"topk", bench_topk},
      {"interference", bench_interference},
  };
  return benchmarks;
}

/// Runs one benchmark and writes its files; returns their names.
std::vector<std::string> run(const std::string& name, Session& session, const OutputFolder& out) {
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

int calibrate(const Arguments& arguments) {
  auto models = catalogue_models(arguments.models);
  const cudaDeviceProp device = open_device(arguments);
  const OutputFolder out(arguments.out, arguments.force);
  MachineRecord machine = describe_device(device, arguments);
  Session session(arguments, device, std::move(models));
  int status = kDone;
  for (const std::string& name : arguments.benchmarks) {
    fmt::print(stderr, "{} ...\n", name);
    try {
      stop_if_interrupted();
      for (const std::string& file : run(name, session, out)) machine.files.push_back(file);
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& error) {
      session.note(name, fmt::format("failed, no file: {}", error.what()));
      status = kFailed;
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
