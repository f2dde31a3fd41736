#include "tools/results/latency_distribution.h"

#include <vector>

namespace kvsim::results {
namespace {

/// Percents, and the tail.
std::vector<double> fractions() {
  std::vector<double> all;
  for (int percent = 0; percent < 100; ++percent) all.push_back(percent / 100.0);
  all.insert(all.end(), {0.995, 0.999, 1.0});
  return all;
}

}  // namespace

Section latency_distribution(Section s, const serving::Measurements& m) {
  const std::vector<double> at = fractions();
  s.set("fractions", at);
  const auto add = [&](const char* metric, const engine::Sample& sample, std::string_view reason) {
    if (sample.empty()) {
      s.missing(metric, reason);
      return;
    }
    std::vector<double> quantiles;
    quantiles.reserve(at.size());
    for (const double fraction : at) quantiles.push_back(sample.quantile(fraction));
    s.set(metric, quantiles);
  };
  add("ttft", m.ttft_s, kNoFirstToken);
  add("tpot", m.tpot_s, kNoTpot);
  add("itl", m.itl_s, kNoGap);
  add("e2e", m.e2e_s, kNothingFinished);
  return s;
}

}  // namespace kvsim::results
