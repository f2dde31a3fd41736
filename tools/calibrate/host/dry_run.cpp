#include "tools/calibrate/host/dry_run.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "tools/calibrate/host/host_memory.h"
#include "tools/calibrate/host/plan.h"
#include "tools/calibrate/host/storage.h"

namespace kvsim::calibrate {
namespace {

/// Cases of a benchmark; none where memory and the device decide.
std::optional<std::size_t> cases_of(const std::string& name, std::span<const models::LlmSpec> models, bool quick) {
  if (name == "decode_attention") return decode_cases(models, quick).size();
  if (name == "uneven_attention") return uneven_cases(models, quick).size();
  if (name == "verify_attention") return verify_cases(models, quick).size();
  if (name == "quantised_attention") return quantised_cases(models, quick).size();
  if (name == "prefill_attention") return prefill_cases(models, quick).size();
  if (name == "latent_attention") return latent_cases(models, quick).size();
  if (name == "experts") return expert_cases(models, quick).size();
  if (name == "host_memory") return host_memory_cases(quick).size();
  if (name == "storage") return storage_cases(quick).size();
  return std::nullopt;
}

}  // namespace

std::string dry_run(const Arguments& arguments, std::span<const models::LlmSpec> models) {
  std::string text = fmt::format("would write into {}/, shapes of {} model{}, seed {}; nothing is run:\n",
                                 arguments.out, models.size(), models.size() == 1 ? "" : "s", arguments.seed);
  for (const std::string& name : arguments.benchmarks) {
    const std::optional<std::size_t> cases = cases_of(name, models, arguments.quick);
    std::string many = "as many sizes as memory holds";
    if (cases) many = fmt::format("{} cases", *cases);
    if (name == "linear") {
      many = fmt::format(
          "{} cases in bf16, {} more where the device has fp8", linear_cases(models, false, arguments.quick).size(),
          linear_cases(models, true, arguments.quick).size() - linear_cases(models, false, arguments.quick).size());
    }
    if (name == "collectives") many = fmt::format("{} cases on 8 GPUs", collective_cases(8, arguments.quick).size());
    if (name == "replay") many = "24 iterations in lock-step, 24 staggered, thrice";
    text += fmt::format("{:<20} {}, {:g} s at most: {}.csv\n", name, many, arguments.budget_s, name);
  }
  text += fmt::format(
      "{:<20} clocks, power, throttling, ECC, MIG and other processes during each of them, where NVML is there: "
      "device_state.csv\n",
      "beside");
  text += fmt::format("at most {:.0f} min; checks against CPU references and filling memory come on top\n",
                      arguments.budget_s * static_cast<double>(arguments.benchmarks.size()) / 60);
  text += fmt::format("then: kvsim calibrate fit {} --gpu NAME --out profile.yaml\n", arguments.out);
  return text;
}

}  // namespace kvsim::calibrate
