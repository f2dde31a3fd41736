#include "models/kernels/operators/decode.h"

#include <algorithm>

namespace kvsim::models {
namespace {

/// Index i of the interval [axis[i], axis[i + 1]] that holds x, at an end the outermost.
std::size_t interval(const std::vector<double>& axis, double x) {
  std::size_t i = 0;
  while (i + 2 < axis.size() && x > axis[i + 1]) ++i;
  return i;
}

}  // namespace

DecodeLaunch::DecodeLaunch(const KernelProfile& profile, const LlmSpec& model, DecodeForm form, const HeadShape& shape,
                           const Machine& machine, double gpus)
    : machine_(machine),
      measured_(profile.machine->peaks()),
      shape_(shape),
      layers_(static_cast<double>(model.attention_layers())),
      kv_share_(model.kv_copies(static_cast<std::int64_t>(gpus)) / gpus),
      model_token_bytes_(static_cast<double>(model.kv_bytes_per_token())),
      kv_bytes_per_token_(model_token_bytes_ * kv_share_ / layers_),
      form_(std::move(form)),
      plane_(correction_for(form_.correction, shape), shape.kv_heads) {
  if (!form_.correction.empty()) {
    constexpr std::size_t kLengthAxis = 1, kHeadDimAxis = 2;
    const std::vector<double>& dims = form_.correction.axes[kHeadDimAxis];
    head_dims_ = {dims.front(), dims.back()};
    plane_lengths_ = form_.correction.axes[kLengthAxis];
  }
  form_.correction = {};
  if (model.attention == AttentionKind::mla) return;
  for (const DecodeTable& table : profile.tables.decode_attention) {
    if (table.kv != form_.kv || table.heads != shape_.heads || table.kv_heads != shape_.kv_heads ||
        table.head_dim != shape_.head_dim) {
      continue;
    }
    grid_.emplace(table, machine_ == measured_ && (!table.warm || form_.hits_in_serving));
  }
}

DecodeLaunch::Grid::Grid(const DecodeTable& table, bool as_it_stands)
    : kv_from(table.kv_lengths.front()),
      kv_to(table.kv_lengths.back()),
      requests_from(table.rows.front().requests),
      requests_to(table.rows.back().requests),
      warm(table.warm),
      as_measured(as_it_stands) {
  for (const double length : table.kv_lengths) log_kv.push_back(std::log(length));
  for (const DecodeRow& row : table.rows) {
    log_requests.push_back(std::log(row.requests));
    for (const double s : row.seconds) log_s.push_back(std::log(s));
  }
}

double DecodeLaunch::Grid::at(double requests, double kv) const {
  const double x = std::log(kv);
  const double y = std::log(requests);
  const std::size_t i = interval(log_kv, x);
  const std::size_t j = interval(log_requests, y);
  const double along = (x - log_kv[i]) / (log_kv[i + 1] - log_kv[i]);
  const double across = (y - log_requests[j]) / (log_requests[j + 1] - log_requests[j]);
  const double* low = &log_s[j * log_kv.size() + i];
  const double* high = low + log_kv.size();
  return std::exp((1 - across) * (low[0] + along * (low[1] - low[0])) +
                  across * (high[0] + along * (high[1] - high[0])));
}

FormTime DecodeLaunch::several(const VerifyForm& form, const AttentionWork& work, KnownLengths* known) const {
  const double requests = work.number_of_requests();
  DecodeCall all = call(requests, kv_per_layer(work.kv_bytes), work.pairs / work.query_tokens, work.longest_kv);
  all.queries = work.queries_each();
  const DecodeCall least = call(requests, requests * kv_bytes_per_token_, 1);
  return form.time(all, time(work, work.kv_bytes, known).seconds, time_of(least, machine_, false).seconds, machine_);
}

FormTime DecodeLaunch::time_of(const DecodeCall& call, const Machine& machine, bool warm) const {
  FormTime t = form_.time(call, machine, warm);
  if (plane_.empty() || !machine.as_measured) return t;
  const double walks = call.requests * call.kv_heads, kv = std::max(call.mean_kv, 1.0);
  const double factor = plane_.at(walks, kv);
  t.seconds *= factor;
  for (const double shorter : plane_lengths_) {
    if (shorter >= kv) break;
    const double of_shorter = plane_.at(walks, shorter);
    if (of_shorter <= factor) continue;  // and the form rises
    DecodeCall to = call;
    to.mean_kv = shorter;
    to.kv_bytes *= shorter / kv;
    to.longest_kv *= shorter / kv;
    t.seconds = std::max(t.seconds, of_shorter * form_.time(to, machine, warm).seconds);
  }
  return t;
}

double DecodeLaunch::between_lengths(double requests, double mean_kv, KnownLengths* known) const {
  const auto at = [&](double kv) {
    return time_of(call(requests, requests * kv * kv_bytes_per_token_, kv), machine_, false).seconds;
  };
  const double cell = std::floor(mean_kv / kLengthStep);
  KnownLengths::Cell once;
  KnownLengths::Cell& c = known ? known->of(requests, cell) : once;
  if (c.requests != requests || c.length != cell) {
    c = {requests, cell, at(std::max(cell * kLengthStep, 1.0)), at((cell + 1) * kLengthStep)};
  }
  const double from = std::max(cell * kLengthStep, 1.0);
  return c.from_s + (mean_kv - from) / ((cell + 1) * kLengthStep - from) * (c.to_s - c.from_s);
}

FormTime DecodeLaunch::time(const AttentionWork& work, double read_bytes, KnownLengths* known) const {
  const double requests = work.number_of_requests();
  if (reads_full_kv(work)) return {between_lengths(requests, work.pairs / work.query_tokens, known), true};
  const double kv_bytes = kv_per_layer(read_bytes);
  DecodeCall all =
      call(requests, kv_bytes, work.query_tokens > 0 ? work.pairs / work.query_tokens : 0, work.longest_kv);
  if (!grid_ || kv_bytes <= 0) return time_of(all, machine_, false);
  // The table at the nearest measured point, carried from there by the form: ratio 1 inside, on the measured machine.
  const double tokens = kv_bytes / requests / kv_bytes_per_token_;
  const double kv = std::clamp(tokens, grid_->kv_from, grid_->kv_to);
  const double n = std::clamp(requests, grid_->requests_from, grid_->requests_to);
  const double uneven_s = form_.uneven_s(all, machine_);
  FormTime t{grid_->at(n, kv) + uneven_s, true};
  if (grid_->as_measured && kv == tokens && n == requests) return t;
  all.longest_kv = 0;
  const DecodeCall at = call(n, n * kv * kv_bytes_per_token_, kv);
  const double carried = time_of(all, machine_, false).seconds / time_of(at, measured_, grid_->warm).seconds;
  t.seconds = grid_->at(n, kv) * carried + uneven_s;
  return t;
}

}  // namespace kvsim::models
