#include <algorithm>
#include <cmath>

#include "models/calibration/operator_fits.h"
#include "models/schema/si.h"

namespace kvsim::models {
namespace {

struct DecodeValue {
  enum : std::size_t { kT0, kDoubling, kHead, kCold, kBandwidth, kL2, kL2Share, kL2Width };
};

}  // namespace

DecodeForm decode_form(NumberFormat kv, std::span<const double> values) {
  DecodeForm form;
  form.kv = kv;
  form.t0_s = values[DecodeValue::kT0] * kMicrosecond;
  form.per_doubling_s = values[DecodeValue::kDoubling] * kMicrosecond;
  form.per_head_s = values[DecodeValue::kHead] * kNanosecond;
  form.cold_s = values[DecodeValue::kCold] * kMicrosecond;
  form.stream = {values[DecodeValue::kBandwidth], rounded(values[DecodeValue::kBandwidth] * values[DecodeValue::kL2]),
                 values[DecodeValue::kL2Share], values[DecodeValue::kL2Width]};
  form.stream.l2_efficiency =
      std::max(form.stream.l2_efficiency, values[DecodeValue::kL2] > 0 ? values[DecodeValue::kBandwidth] : 0);
  return form;
}

FitProblem decode_problem(std::vector<DecodeSample> rows, const Machine& machine) {
  FitProblem problem;
  problem.parameters = {{"t0 (us)", 13, 0, 60},
                        {"per_doubling (us)", 1, 0, 20},
                        {"per_head (ns)", 1, 0, 100},
                        {"cold (us)", 5, 0, 60},
                        {"bandwidth_efficiency", 0.9, 0.3, 1.0},
                        {"l2_rate (of HBM's)", 2, 1, 30},
                        {"l2_share", 0.9, 0.3, 3},
                        {"l2_width", 0.1, 0.05, 3}};
  std::vector<double> start;
  for (const Parameter& p : problem.parameters) start.push_back(p.start);
  for (const auto& [share, cold] : {std::pair{0.3, 0.1}, {0.3, 8.0}, {0.9, 0.1}, {1.7, 15.0}}) {
    start[DecodeValue::kL2Share] = share;
    start[DecodeValue::kCold] = cold;
    problem.starts.push_back(start);
  }
  for (const DecodeSample& row : rows) {
    problem.measured.push_back(row.seconds);
    const bool fits = machine.l2_bytes > 0 && row.kv_bytes() < machine.l2_bytes;
    problem.labels.push_back({{row.shape.heads, row.shape.kv_heads}, fits ? "KV below L2" : "KV above L2"});
  }
  problem.predict = [rows = std::move(rows), machine](std::span<const double> values,
                                                      std::span<const std::size_t> which, std::span<double> seconds) {
    const DecodeForm form = decode_form(NumberFormat::bf16, values);
    for (std::size_t i = 0; i < which.size(); ++i) {
      const DecodeSample& row = rows[which[i]];
      const DecodeCall call{row.requests, row.shape.heads, row.kv_bytes(), row.kv_length, 0};
      seconds[i] = form.time(call, machine, true).seconds;
    }
  };
  return problem;
}

double uneven_share(const std::vector<SkewSample>& rows) {
  // Each row by its own share, as heavy as uneven lengths can matter in it; the weighted median takes no outliers.
  std::vector<std::pair<double, double>> shares;
  double total = 0;
  for (const SkewSample& row : rows) {
    const double range = row.longest_s - row.mean_s;
    if (range <= 0) continue;
    const double weight = range / row.mean_s;
    shares.emplace_back((row.uneven_s - row.mean_s) / range, weight);
    total += weight;
  }
  std::sort(shares.begin(), shares.end());
  double below = 0;
  for (const auto& [share, weight] : shares) {
    below += weight;
    if (below >= total / 2) return std::clamp(share, 0.0, 1.0);
  }
  return 0;
}

}  // namespace kvsim::models
