#include "planner/closed_form/transfer_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace kvsim::planner {

GpuTime GpuTime::linear(double fixed_s, double per_request_s) {
  GpuTime time;
  time.fixed_s_ = fixed_s;
  time.per_request_s_ = per_request_s;
  return time;
}

GpuTime GpuTime::table(std::vector<double> seconds) {
  GpuTime time;
  time.table_ = std::move(seconds);
  time.best_rate_.assign(time.table_.size(), 0.0);
  for (std::size_t b = 1; b < time.table_.size(); ++b) {
    const double rate = static_cast<double>(b) / time.table_[b];
    time.rate_grows_ = time.rate_grows_ && rate >= time.best_rate_[b - 1];
    time.best_rate_[b] = std::max(rate, time.best_rate_[b - 1]);
  }
  return time;
}

double GpuTime::best_rate(std::int64_t requests) const {
  if (requests <= 0) return 0;
  if (!table_.empty()) return best_rate_[static_cast<std::size_t>(requests)];
  return static_cast<double>(requests) / at(requests);
}

std::int64_t GpuTime::most() const {
  return table_.empty() ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(table_.size()) - 1;
}

namespace {

constexpr double kRounding = 1e-12;  // relative, of sums of a few products

// Share of a mean iteration that a schedule in whole iterations can count on: their lengths vary by a few per cent, and
// where a whole reload just fits, in every other iteration it would not (docs/planner.md has what this is worth).
constexpr double kCountedOn = 0.95;

double as_double(std::int64_t n) {
  return static_cast<double>(n);
}

/// Iterations that a reload takes.
double whole_span(const Cycle& cycle, double iteration_s) {
  return std::max(1.0, std::ceil(cycle.reload_s / (kCountedOn * iteration_s) * (1 - kRounding)));
}

}  // namespace

std::optional<TransferModel> find_transfer_model(std::string_view name) {
  for (const TransferModelName& entry : kTransferModels) {
    if (entry.name == name) return entry.model;
  }
  return std::nullopt;
}

std::string_view name_of(TransferModel model) {
  return std::find_if(kTransferModels.begin(), kTransferModels.end(),
                      [model](const TransferModelName& entry) { return entry.model == model; })
      ->name;
}

IterationTimes iteration_times(TransferModel model, const Cycle& cycle, const Batch& batch) {
  IterationTimes times;
  times.gpu_s = cycle.gpu.at(batch.requests());
  // B_c / (x + 1) reloads start per iteration.
  double reloads_s = as_double(batch.B_c) * cycle.reload_s / as_double(cycle.x + 1);
  if (model == TransferModel::published) reloads_s /= as_double(batch.l);
  const double in_s = reloads_s + as_double(batch.B_c) * cycle.other_per_offloaded_s +
                      as_double(batch.B_g) * cycle.other_per_resident_s;
  times.transfer_s = std::max(in_s, as_double(batch.B_c) * cycle.back_per_offloaded_s);
  return times;
}

double streams_in_memory(const Cycle& cycle, std::int64_t B_c, double iteration_s) {
  const double starts = as_double(B_c) / as_double(cycle.x + 1);  // per iteration
  if (!cycle.whole_iterations) return starts * std::max(1.0, cycle.reload_s / iteration_s);
  const double span = whole_span(cycle, iteration_s);
  const double wait = span > 1 ? as_double(cycle.slack) : std::max(1.0, as_double(cycle.slack));
  return std::ceil(starts * (span + wait) * (1 - kRounding));
}

bool link_has_room(TransferModel model, const Cycle& cycle, const Batch& batch, double iteration_s) {
  if (model != TransferModel::rings || !cycle.whole_iterations || batch.B_c == 0 || cycle.reload_s <= 0) return true;
  const double span = whole_span(cycle, iteration_s);
  const double at_once = std::floor(kCountedOn * iteration_s / (cycle.reload_s / span) * (1 + kRounding));
  return as_double(batch.B_c) / as_double(cycle.x + 1) * span <= at_once;
}

double kv_memory_bytes(TransferModel model, const Cycle& cycle, const Batch& batch, double iteration_s) {
  const double resident = as_double(batch.B_g) * cycle.resident_bytes;
  if (batch.B_c == 0) return resident;
  if (model != TransferModel::rings) return resident + as_double(batch.B_c) * cycle.average_bytes;
  // KV (c + (1 - c) l_r / (x + 1)) each
  double streams = streams_in_memory(cycle, batch.B_c, iteration_s) * cycle.streaming_bytes;
  if (!cycle.largest_stream_bytes.empty()) {
    const std::size_t last = cycle.largest_stream_bytes.size() - 1;
    streams = std::max(streams, cycle.largest_stream_bytes[std::min(static_cast<std::size_t>(batch.B_c), last)]);
  }
  return resident + as_double(batch.B_c) * cycle.compressed_bytes + streams;
}

double least_kv_bytes(TransferModel model, const Cycle& cycle) {
  if (cycle.x == 0 || cycle.gpu.most() < 1) return cycle.resident_bytes;
  const Batch offloaded{1, 0, 1};
  const double iteration_s = iteration_times(model, cycle, offloaded).iteration_s();
  return std::min(cycle.resident_bytes, kv_memory_bytes(model, cycle, offloaded, iteration_s));
}

bool fits(double bytes, double room) {
  return bytes <= room * (1 + kRounding);
}

std::int64_t reload_span(TransferModel model, const Cycle& cycle, const Batch& batch, double iteration_s) {
  if (model == TransferModel::published) return batch.l;
  return std::max<std::int64_t>(1,
                                static_cast<std::int64_t>(std::ceil(cycle.reload_s / iteration_s * (1 - kRounding))));
}

double throughput(const Cycle& cycle, const Batch& batch, const IterationTimes& times) {
  return as_double(batch.requests()) * cycle.tokens / times.iteration_s();
}

}  // namespace kvsim::planner
