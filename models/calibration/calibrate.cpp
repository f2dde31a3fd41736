#include "models/calibration/calibrate.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/calibration/calibrator.h"
#include "models/calibration/device_fits.h"
#include "models/calibration/physics.h"
#include "models/schema/error.h"

namespace kvsim::models {

Calibration calibrate(const Readings& readings, const GpuSpec& gpu, const std::vector<GpuSpec>& others,
                      const std::vector<LlmSpec>& models, const CalibrationOptions& options) {
  Calibration result;
  const std::string framework = framework_for(readings.samples, gpu.name, options.framework);
  Samples samples = select(readings.samples, gpu.name, framework, true);
  if (count(samples) == 0) {
    throw schema::InputError(fmt::format("no row is of {} with the framework {}", gpu.name, framework));
  }
  const Machine machine = Machine::of(gpu);
  if (machine.multiprocessors <= 0 || machine.l2_bytes <= 0) {
    throw schema::InputError(
        fmt::format("gpus.{}: multiprocessors and l2_cache are not given, expected both to fit "
                    "kernels to it",
                    gpu.name));
  }
  result.refused = readings.refused;
  result.ignored = readings.ignored;
  const auto refuse = [&](Samples& rows, const Machine& peaks) {
    std::vector<RefusedRow> refused = refuse_impossible(rows, peaks);
    for (const NumberFormat format : options.drop_slow) {
      std::ranges::move(refuse_slow(rows, format), std::back_inserter(refused));
    }
    return refused;
  };
  std::ranges::move(refuse(samples, machine), std::back_inserter(result.refused));
  result.rows = count(samples);
  subtract_launches(samples);
  std::vector<OtherMachine> other_machines;
  for (const GpuSpec& other : others) {
    const Machine peaks = Machine::of(other);
    if (other.name == gpu.name || peaks.multiprocessors <= 0 || !options.other_machines) continue;
    Samples theirs = select(readings.samples, other.name, framework, false);
    (void)refuse(theirs, peaks);
    subtract_launches(theirs);
    if (count(theirs) > 0) other_machines.push_back({other, std::move(theirs)});
  }
  fit_profile(gpu, framework, std::move(samples), std::move(other_machines), models, options, result);
  if (result.operators.empty() && result.collectives.empty() && !has_profile(result.profile)) {
    const std::vector<std::string> named = frameworks_of(readings.samples, gpu.name);
    throw schema::InputError(fmt::format(
        "nothing could be fitted for {}: {} rows with the framework {} are "
        "usable, {} were refused{}{}; rows of {} are of {}",
        gpu.name, result.rows, framework, result.refused.size(),
        result.refused.empty()
            ? ""
            : fmt::format(" (the first, {}: {})", result.refused.front().origin.str(), result.refused.front().reason),
        result.warnings.empty() ? "" : fmt::format("; {}", fmt::join(result.warnings, "; ")), gpu.name,
        named.empty() ? "no named framework" : fmt::format("{}", fmt::join(named, ", "))));
  }
  return result;
}

}  // namespace kvsim::models
