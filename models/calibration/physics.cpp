#include "models/calibration/physics.h"

#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace kvsim::models {
namespace {

constexpr double kShortest = 2e-7;  // no kernel is launched and done in less
constexpr double kLongest = 100;
constexpr double kContradiction = 2;

std::string bad_time(double seconds) {
  if (!std::isfinite(seconds)) return fmt::format("the time is {}, no number", seconds);
  if (seconds <= 0) return fmt::format("the time is {} s, expected more than 0", seconds);
  if (seconds < kShortest) return fmt::format("{:.3g} us: no kernel is that short", seconds * 1e6);
  if (seconds > kLongest) return fmt::format("{:.3g} s: no kernel is that long", seconds);
  return {};
}

std::string above_bandwidth(double bytes, double seconds, const Machine& machine) {
  if (bytes / seconds <= kAbovePeak * machine.memory_bytes_per_s) return {};
  return fmt::format("implies {:.0f} GB/s, the peak is {:.0f} GB/s", bytes / seconds / 1e9,
                     machine.memory_bytes_per_s / 1e9);
}

std::string above_rate(double flops, double seconds, double peak) {
  if (flops / seconds <= kAbovePeak * peak) return {};
  return fmt::format("implies {:.0f} TFLOP/s, the peak is {:.0f} TFLOP/s", flops / seconds / 1e12, peak / 1e12);
}

bool positive(std::initializer_list<double> sizes) {
  for (const double size : sizes) {
    if (!(size > 0) || !std::isfinite(size)) return false;
  }
  return true;
}

const char* const kBadSize = "a size is not positive";

std::string implied(const LinearSample& row, const Machine& machine) {
  if (!positive({row.m, row.n, row.k})) return kBadSize;
  const double weights = row.n * row.k * bytes_per_element(row.weights);
  std::string reason = above_rate(2 * row.m * row.n * row.k, row.seconds, machine.flops_per_s(row.weights));
  if (reason.empty() && !may_hit_l2(weights, machine)) reason = above_bandwidth(weights, row.seconds, machine);
  return reason;
}

std::string implied(const DecodeSample& row, const Machine& machine) {
  if (!positive({row.requests, row.kv_length, row.shape.heads, row.shape.kv_heads, row.shape.head_dim}))
    return kBadSize;
  const double from_hbm = row.kv_bytes() - (row.warm ? machine.l2_bytes : 0);
  return above_bandwidth(from_hbm, row.seconds, machine);
}

std::string implied(const TiledSample& row, const Machine& machine) {
  if (!positive({row.chunks, row.tokens, row.shape.heads, row.shape.kv_heads, row.shape.head_dim})) return kBadSize;
  if (row.before < 0 || row.decodes < 0 || row.decode_kv < 0) return kBadSize;
  const double pairs = row.chunks * row.tokens * (row.before + (row.tokens + 1) / 2);
  const double flops = 4 * row.shape.heads * row.shape.head_dim * (pairs + row.decodes * row.decode_kv);
  return above_rate(flops, row.seconds, machine.flops_per_s(row.kv));
}

std::string implied(const ElementwiseSample& row, const Machine& machine) {
  if (!positive({row.tokens, row.bytes})) return kBadSize;
  // The kernel before wrote the inputs: as much as L2 holds may be read from there.
  return above_bandwidth(row.bytes - machine.l2_bytes, row.seconds, machine);
}

std::string implied(const SamplerSample& row, const Machine& /*machine*/) {
  return positive({row.sequences}) ? "" : kBadSize;
}

std::string implied(const AllReduceSample& row, const Machine& /*machine*/) {
  return positive({row.bytes}) && row.gpus >= 2 ? "" : kBadSize;
}

auto work(const LinearSample& r) {
  return std::tuple(r.weights, r.m, r.n, r.k);
}
auto work(const DecodeSample& r) {
  return std::tuple(r.kv, r.shape.heads, r.shape.kv_heads, r.shape.head_dim, r.requests, r.kv_length, r.warm);
}
auto work(const TiledSample& r) {
  return std::tuple(r.kv, r.shape.heads, r.shape.kv_heads, r.shape.head_dim, r.chunks, r.tokens, r.before, r.decodes,
                    r.decode_kv);
}
auto work(const ElementwiseSample& r) {
  return std::tuple(r.layer, r.tokens);
}
auto work(const SamplerSample& r) {
  return r.sequences;
}
auto work(const AllReduceSample& r) {
  return std::tuple(r.gpus, r.bytes);
}

template <class Sample>
void refuse(std::vector<Sample>& rows, const Machine& machine, std::vector<RefusedRow>& refused) {
  std::vector<Sample> good;
  for (Sample& row : rows) {
    std::string reason = bad_time(row.seconds);
    if (reason.empty()) reason = implied(row, machine);
    if (reason.empty()) {
      good.push_back(std::move(row));
    } else {
      refused.push_back({row.from.origin, std::move(reason)});
    }
  }
  // Of rows that contradict each other nobody knows which is right: all go.
  std::map<decltype(work(good.front())), std::pair<double, double>> range;
  for (const Sample& row : good) {
    auto& [low, high] = range.try_emplace(work(row), row.seconds, row.seconds).first->second;
    low = std::min(low, row.seconds);
    high = std::max(high, row.seconds);
  }
  rows.clear();
  for (Sample& row : good) {
    const auto [low, high] = range.at(work(row));
    if (high > kContradiction * low) {
      refused.push_back(
          {row.from.origin, fmt::format("rows of the same work say {:.4g} us and {:.4g} us", low * 1e6, high * 1e6)});
    } else {
      rows.push_back(std::move(row));
    }
  }
}

}  // namespace

bool may_hit_l2(double bytes, const Machine& machine) {
  return bytes <= machine.l2_bytes;
}

std::vector<RefusedRow> refuse_impossible(Samples& samples, const Machine& machine) {
  std::vector<RefusedRow> refused;
  refuse(samples.linear, machine, refused);
  refuse(samples.decode, machine, refused);
  refuse(samples.prefill, machine, refused);
  std::vector<RefusedRow> again;  // chunks alone are rows of both and were refused as such
  refuse(samples.mixed, machine, again);
  for (RefusedRow& row : again) {
    bool known = false;
    for (const RefusedRow& r : refused) known = known || r.origin.str() == row.origin.str();
    if (!known) refused.push_back(std::move(row));
  }
  refuse(samples.elementwise, machine, refused);
  refuse(samples.sampler, machine, refused);
  refuse(samples.all_reduce, machine, refused);
  return refused;
}

}  // namespace kvsim::models
