#include <array>
#include <utility>

#include <fmt/format.h>

#include "models/calibration/table_kind.h"
#include "models/schema/text_number.h"
#include "models/schema/units.h"

namespace kvsim::models {
namespace {

/// Experts of two matrices, not three: Nemotron's, by hidden size and width of an expert. Tables do not say it.
constexpr std::array<std::pair<double, double>, 3> kUngated{{{2688, 1856}, {2048, 5120}, {1024, 2688}}};

/// Version of vLLM whose benchmark gave every expert three matrices, and one GPU of an expert-parallel group other
/// tokens than later versions do.
constexpr std::string_view kFormerVersion = "0.14.0";

bool gated(double hidden, double intermediate, std::string_view version) {
  if (version == kFormerVersion) return true;
  for (const auto& [h, i] : kUngated) {
    if (h == hidden && i == intermediate) return false;
  }
  return true;
}

/// The power of power_law_1.2; 0 of balanced, negative of what is neither.
double power_of(std::string_view distribution) {
  constexpr std::string_view kPowerLaw = "power_law_";
  if (distribution == "balanced") return 0;
  if (distribution.substr(0, kPowerLaw.size()) != kPowerLaw) return -1;
  const double alpha = schema::number_from<double>(distribution.substr(kPowerLaw.size())).value_or(-1);
  constexpr double kSteepest = 5;
  return alpha > 0 && alpha != 1 && alpha <= kSteepest ? alpha : -1;
}

}  // namespace

void add_moe(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  const auto format = format_of(row.text("dtype"));
  if (!format) {
    into.refused.push_back(
        {row.origin(), fmt::format("weights in {}: profiles have bf16, fp8, fp8_block and nvfp4", row.text("dtype"))});
    return;
  }
  const double alpha = power_of(row.text("distribution"));
  if (alpha < 0) {
    into.refused.push_back({row.origin(), fmt::format("distribution {}: expected balanced or power_law_ALPHA, alpha "
                                                      "above 0, not 1 and at most 5",
                                                      row.text("distribution"))});
    return;
  }
  MoeSample sample;
  sample.from = row.source();
  sample.kernel = row.text("kernel");
  sample.weights = *format;
  sample.layer = {row.number("hidden"),
                  row.number("intermediate"),
                  row.number("top_k"),
                  row.number("experts"),
                  row.number("moe_tp"),
                  row.number("moe_ep"),
                  gated(row.number("hidden"), row.number("intermediate"), row.text("version"))};
  sample.tokens = row.number("m_tokens");
  sample.alpha = alpha;
  sample.warm = row.text("framework") != "kvsim";  // kvsim-calibrate flushes L2 before each run, others do not
  sample.seconds = row.number("measured_ms") * kMillisecond;
  if (row.text("version") == kFormerVersion && sample.layer.expert_parallel > 1) {
    into.refused.push_back({row.origin(), "how this version's benchmark routes to one of several GPUs is not known"});
    return;
  }
  into.samples.moe.push_back(std::move(sample));
}

}  // namespace kvsim::models
