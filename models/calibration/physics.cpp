#include "models/calibration/physics.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <tuple>

#include "models/calibration/fit_problem.h"
#include "models/calibration/row_checks.h"
#include "models/schema/error.h"
#include "models/schema/units.h"

namespace kvsim::models {
namespace {

constexpr double kShortest = 2e-7;  // no kernel is launched and done in less
constexpr double kLongest = 100;

}  // namespace

std::string bad_time(double seconds) {
  if (!std::isfinite(seconds)) return fmt::format("the time is {}, no number", seconds);
  if (seconds <= 0) return fmt::format("the time is {} s, expected more than 0", seconds);
  if (seconds < kShortest) return fmt::format("{:.3g} us: no kernel is that short", seconds * 1e6);
  if (seconds > kLongest) return fmt::format("{:.3g} s: no kernel is that long", seconds);
  return {};
}

std::string above_bandwidth(double bytes, double seconds, const Machine& machine, double factor) {
  if (bytes / seconds <= factor * machine.memory_bytes_per_s) return {};
  return fmt::format("implies {:.0f} GB/s, the peak is {:.0f} GB/s", bytes / seconds / kGB,
                     machine.memory_bytes_per_s / kGB);
}

std::string bad_size(std::initializer_list<RowSize> sizes) {
  for (const RowSize& size : sizes) {
    if (size.value >= size.least && std::isfinite(size.value) && size.value == std::floor(size.value)) continue;
    return fmt::format("{}: {:g}, expected a whole number from {:.0f}", size.name, size.value, size.least);
  }
  return {};
}

namespace {

std::string above_rate(double flops, double seconds, double peak) {
  if (flops / seconds <= kAbovePeak * peak) return {};
  return fmt::format("implies {:.0f} TFLOP/s, the peak is {:.0f} TFLOP/s", flops / seconds / 1e12, peak / 1e12);
}

std::string bad_heads(const HeadShape& shape) {
  std::string reason = bad_size({{"heads", shape.heads}, {"KV heads", shape.kv_heads}, {"head size", shape.head_dim}});
  if (reason.empty() && std::fmod(shape.heads, shape.kv_heads) != 0) {
    reason = fmt::format("{:.0f} heads cannot share {:.0f} KV heads evenly", shape.heads, shape.kv_heads);
  }
  return reason;
}

double flops_of(const LinearSample& row) {
  return 2 * row.m * row.n * row.k;
}

double weights_of(const LinearSample& row) {
  return row.n * row.k * bytes_per_element(row.weights);
}

double flops_of(const TiledSample& row) {
  const double pairs = row.chunks * row.tokens * (row.before + (row.tokens + 1) / 2);
  return 4 * row.shape.heads * row.shape.head_dim * (pairs + row.decodes * row.decode_kv);
}

/// Weights of an expert on one GPU.
double matrix_of(const MoeSample& row) {
  return row.layer.hidden * row.layer.intermediate / row.layer.tensor_parallel * (row.layer.gated ? 3 : 2);
}

/// Operations that are certain whatever the routing: an even share of the pairs, on the GPU that has most of them.
double flops_of(const MoeSample& row) {
  return 2 * row.tokens * row.layer.top_k / row.layer.expert_parallel * matrix_of(row);
}

std::string implied(const LinearSample& row, const Machine& machine) {
  std::string reason = bad_size({{"tokens", row.m}, {"n", row.n}, {"k", row.k}});
  if (!reason.empty()) return reason;
  const double weights = weights_of(row);
  reason = above_rate(flops_of(row), row.seconds, machine.flops_per_s(row.weights));
  if (!reason.empty()) return reason;
  const bool cold = row.run.repeated <= 0 || !may_hit_l2(row.run.repeated * weights, machine);
  return above_bandwidth(weights, row.seconds, machine, cold ? kAbovePeak : kFastestCache);
}

std::string implied(const DecodeSample& row, const Machine& machine) {
  std::string reason = bad_heads(row.shape);
  if (reason.empty()) reason = bad_size({{"requests", row.requests}, {"tokens of KV", row.kv_length}});
  if (!reason.empty()) return reason;
  if (row.block.latent > 0) {
    const double flops = 4 * row.requests * row.kv_length * row.shape.heads * row.shape.head_dim;
    reason = above_rate(flops, row.seconds, machine.flops_per_s(row.kv));
    if (!reason.empty()) return reason;
  }
  const double from_hbm = row.kv_bytes() - (row.warm ? machine.l2_bytes : 0);
  return above_bandwidth(from_hbm, row.seconds, machine);
}

std::string implied(const TiledSample& row, const Machine& machine) {
  std::string reason = bad_heads(row.shape);
  if (reason.empty()) {
    reason = bad_size({{"prompts", row.chunks},
                       {"tokens", row.tokens},
                       {"tokens of KV before", row.before, 0},
                       {"decoding requests", row.decodes, 0},
                       {"tokens of KV", row.decode_kv, 0}});
  }
  if (!reason.empty()) return reason;
  return above_rate(flops_of(row), row.seconds, machine.flops_per_s(row.kv));
}

std::string implied(const ElementwiseSample& row, const Machine& machine) {
  std::string reason = bad_size({{"tokens", row.tokens}});
  if (!reason.empty()) return reason;
  // The kernel before wrote the inputs: as much as L2 holds may be read from there.
  return above_bandwidth(row.bytes - machine.l2_bytes, row.seconds, machine);
}

std::string implied(const SamplerSample& row, const Machine& /*machine*/) {
  return bad_size({{"sequences", row.sequences}});
}

std::string implied(const MoeSample& row, const Machine& machine) {
  const ExpertLayer& l = row.layer;
  std::string reason = bad_size({{"tokens", row.tokens},
                                 {"hidden", l.hidden},
                                 {"intermediate", l.intermediate},
                                 {"top_k", l.top_k},
                                 {"experts", l.experts},
                                 {"moe_tp", l.tensor_parallel},
                                 {"moe_ep", l.expert_parallel}});
  if (!reason.empty()) return reason;
  constexpr double kMostExperts = 1e5;
  if (l.top_k > l.experts) return fmt::format("{:.0f} of {:.0f} experts for each token", l.top_k, l.experts);
  if (l.experts > kMostExperts) return fmt::format("{:.0f} experts, expected at most 100000", l.experts);
  if (std::fmod(l.experts, l.expert_parallel) != 0) {
    return fmt::format("{:.0f} experts cannot be shared evenly by {:.0f} GPUs", l.experts, l.expert_parallel);
  }
  return above_rate(flops_of(row), row.seconds, machine.flops_per_s(row.weights));
}

std::string implied(const CollectiveSample& row, const Machine& machine) {
  std::string reason = bad_size({{"GPUs", static_cast<double>(row.gpus), 2}, {"bytes", row.bytes}});
  if (!reason.empty()) return reason;
  if (row.seconds < kShortestCollective_s)
    return fmt::format("{:.3g} us: no collective is that short", row.seconds * 1e6);
  return above_bandwidth(row.bytes, row.seconds, machine, 1);  // every GPU reads all of it once at least
}

// Time of a row's work at the machine's peaks, s: the longer of its arithmetic and its bytes.

double ideal_s(const LinearSample& row, const Machine& machine) {
  return std::max(flops_of(row) / machine.flops_per_s(row.weights), weights_of(row) / machine.memory_bytes_per_s);
}

double ideal_s(const DecodeSample& row, const Machine& machine) {
  return row.kv_bytes() / machine.memory_bytes_per_s;
}

double ideal_s(const TiledSample& row, const Machine& machine) {
  return flops_of(row) / machine.flops_per_s(row.kv);
}

double ideal_s(const ElementwiseSample& row, const Machine& machine) {
  return row.bytes / machine.memory_bytes_per_s;
}

double ideal_s(const MoeSample& row, const Machine& machine) {
  const double experts = std::min(row.layer.experts / row.layer.expert_parallel, row.tokens * row.layer.top_k);
  const double weights = experts * matrix_of(row) * bytes_per_element(row.weights);
  return std::max(flops_of(row) / machine.flops_per_s(row.weights), weights / machine.memory_bytes_per_s);
}

/// Reason to refuse a row that takes far longer than any kernel does: a wrong unit, or a pause in the measurement.
template <class Sample>
std::string too_long(const Sample& row, const Machine& machine) {
  constexpr double kPause = 0.01;  // fixed times are a hundredth of this
  constexpr double kMost = 1000;   // kernels that reach a thousandth of what binds them
  const double ideal = ideal_s(row, machine);
  if (row.seconds <= kPause + kMost * ideal) return {};
  return fmt::format("takes {}, expected at most {}: at the peaks its work takes {}",
                     schema::format_real(schema::Dimension::time, row.seconds),
                     schema::format_real(schema::Dimension::time, rounded(kPause + kMost * ideal)),
                     schema::format_real(schema::Dimension::time, rounded(ideal)));
}

/// By the sequences alone nothing is known of a sampler's time, and a collective's depends on its link.
std::string too_long(const SamplerSample& /*row*/, const Machine& /*machine*/) {
  return {};
}
std::string too_long(const CollectiveSample& /*row*/, const Machine& /*machine*/) {
  return {};
}

auto work(const LinearSample& r) {
  return std::tuple(r.weights, r.m, r.n, r.k);
}
auto work(const DecodeSample& r) {
  return std::tuple(r.kv, r.shape.heads, r.shape.kv_heads, r.shape.head_dim, r.requests, r.kv_length, r.warm,
                    r.block.kernel, r.block.projections);
}
auto work(const TiledSample& r) {
  return std::tuple(r.kv, r.shape.heads, r.shape.kv_heads, r.shape.head_dim, r.chunks, r.tokens, r.before, r.decodes,
                    r.decode_kv, r.block.kernel, r.block.projections);
}
auto work(const ElementwiseSample& r) {
  return std::tuple(r.layer, r.tokens, r.bytes);
}
auto work(const SamplerSample& r) {
  return r.sequences;
}
auto work(const MoeSample& r) {
  return std::tuple(r.kernel, r.weights, r.layer.hidden, r.layer.intermediate, r.layer.top_k, r.layer.experts,
                    r.layer.tensor_parallel, r.layer.expert_parallel, r.tokens, r.alpha);
}
auto work(const CollectiveSample& r) {
  return std::tuple(r.operation, r.library, r.from.version, r.gpus, r.bytes);
}

template <class Sample>
void refuse(std::vector<Sample>& rows, const Machine& machine, std::vector<RefusedRow>& refused) {
  refuse_rows(
      rows, machine, refused,
      [](const Sample& row, const Machine& m) {
        const std::string reason = implied(row, m);
        return reason.empty() ? too_long(row, m) : reason;
      },
      [](const Sample& row) { return work(row); });
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
  refuse(samples.moe, machine, refused);
  refuse(samples.latent_decode, machine, refused);
  refuse(samples.latent_prefill, machine, refused);
  refuse(samples.collectives, machine, refused);
  refuse_impossible(samples.variants, machine, refused);
  refuse_impossible(samples.device, machine, refused);
  return refused;
}

std::vector<RefusedRow> refuse_slow(Samples& samples, NumberFormat format) {
  struct Fastest {
    double seconds = std::numeric_limits<double>::infinity();
    double m = 0;
  };
  // Fastest rows of each layer, by tokens, most first; then of those tokens and more.
  std::map<std::pair<double, double>, std::map<double, Fastest, std::greater<>>> layers;
  for (const LinearSample& row : of_format(samples.linear, format)) {
    Fastest& fastest = layers[{row.n, row.k}][row.m];
    if (row.seconds < fastest.seconds) fastest = {row.seconds, row.m};
  }
  for (auto& [shape, by_tokens] : layers) {
    Fastest of_more;
    for (auto& [m, fastest] : by_tokens) of_more = fastest = fastest.seconds < of_more.seconds ? fastest : of_more;
  }
  std::vector<RefusedRow> refused;
  std::vector<LinearSample> kept;
  for (LinearSample& row : samples.linear) {
    Fastest of_more;
    if (row.weights == format) {
      const auto& by_tokens = layers.at({row.n, row.k});
      if (const auto own = by_tokens.find(row.m); own != by_tokens.begin()) of_more = std::prev(own)->second;
    }
    if (row.seconds <= kSlowRow * of_more.seconds) {
      kept.push_back(std::move(row));
      continue;
    }
    refused.push_back(
        {row.from.origin, fmt::format("takes {} where the same layer takes {} with {:.0f} tokens",
                                      schema::format_real(schema::Dimension::time, row.seconds),
                                      schema::format_real(schema::Dimension::time, of_more.seconds), of_more.m)});
  }
  samples.linear = std::move(kept);
  return refused;
}

}  // namespace kvsim::models
