#include "models/kernels/operator_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kvsim::models {
namespace {

const LinearForm* form_of(const KernelProfile& profile, const LlmSpec& model) {
  return form_for(profile.fitted.linear, &LinearForm::weights, model.weight_format());
}

const MoeForm* experts_form_of(const KernelProfile& profile, const LlmSpec& model) {
  return form_for(profile.fitted.moe, &MoeForm::weights, model.weight_format());
}

}  // namespace

double routed_layers(const LlmSpec& m) {
  return m.moe.experts > 0 ? static_cast<double>(m.layers - m.moe.dense_layers) : 0;
}

ExpertLayer routed_layer(const LlmSpec& m, double gpus) {
  ExpertLayer layer;
  layer.hidden = static_cast<double>(m.hidden);
  layer.intermediate = static_cast<double>(m.moe.expert_intermediate);
  layer.top_k = static_cast<double>(m.moe.experts_per_token);
  layer.experts = static_cast<double>(m.moe.experts);
  layer.tensor_parallel = gpus;
  return layer;
}

namespace {

void add_attention_shapes(const LlmSpec& m, double gpus, std::vector<LinearShape>& shapes) {
  const auto layers = static_cast<double>(m.layers);
  const auto hidden = static_cast<double>(m.hidden);
  const double heads = static_cast<double>(m.heads) / gpus;
  if (m.attention != AttentionKind::mla) {
    const double queries = static_cast<double>(m.heads * m.head_dim) / gpus;
    const double kv =
        2 * static_cast<double>(m.kv_heads * m.head_dim) * m.kv_copies(static_cast<std::int64_t>(gpus)) / gpus;
    shapes.push_back({queries + kv, hidden, layers});
    shapes.push_back({hidden, queries, layers});
    return;
  }
  const MlaShape& s = m.mla;
  const auto query = static_cast<double>(s.q_lora_rank);
  const auto latent = static_cast<double>(s.kv_lora_rank);
  const auto nope = static_cast<double>(s.qk_nope_head_dim);
  const auto rope = static_cast<double>(s.qk_rope_head_dim);
  const auto value = static_cast<double>(s.v_head_dim);
  shapes.push_back({query + latent + rope, hidden, layers});
  shapes.push_back({heads * (nope + rope), query > 0 ? query : hidden, layers});
  shapes.push_back({heads * (nope + value), latent, layers});
  shapes.push_back({hidden, heads * value, layers});
}

}  // namespace

std::vector<LinearShape> body_shapes(const LlmSpec& m, double gpus) {
  std::vector<LinearShape> shapes;
  add_attention_shapes(m, gpus, shapes);
  const auto hidden = static_cast<double>(m.hidden);
  const auto add_block = [&](std::int64_t width, double layers) {
    const double inner = static_cast<double>(width) / gpus;
    if (inner <= 0 || layers <= 0) return;
    shapes.push_back({2 * inner, hidden, layers});
    shapes.push_back({hidden, inner, layers});
  };
  const double routed = routed_layers(m);
  add_block(m.intermediate, static_cast<double>(m.layers) - routed);
  if (routed > 0) shapes.push_back({static_cast<double>(m.moe.experts), hidden, routed});
  add_block(m.moe.shared_experts * m.moe.expert_intermediate, routed);
  return shapes;
}

LinearShape head_shape(const LlmSpec& m, double gpus) {
  return {static_cast<double>(m.vocabulary) / gpus, static_cast<double>(m.hidden), 1};
}

bool LinearTimes::covers(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, std::string& why) {
  const double width = model.weight_bytes_per_parameter;
  const bool known = width == bytes_per_element(model.weight_format());
  if (profile.fitted.linear.empty()) {
    why = "the profile has no fitted form";
  } else if (!model.stated_weight_format && (model.weight_bytes_override > 0 || !known)) {
    why = fmt::format("weights of {} bytes are in no format that kernels were measured in", width);
  } else if (form_of(profile, model) == nullptr) {
    why = fmt::format("the profile has no fitted form for {} weights", word(model.weight_format()));
  } else if (model.moe.experts > 0 && experts_form_of(profile, model) == nullptr) {
    why = fmt::format("the profile has no fitted form for routed experts with {} weights", word(model.weight_format()));
  } else if (machine.multiprocessors <= 0) {
    why = "the GPU's multiprocessors are not given";
  } else {
    return true;
  }
  return false;
}

FormTime linear_time(const KernelProfile& profile, const LinearForm& form, const LinearShape& shape, double tokens,
                     const Machine& machine, const LinearRun& run) {
  FormTime t = form.time(tokens, shape.n, shape.k, machine, run);
  for (const LinearTable& table : profile.tables.linear) {
    if (table.weights != form.weights || table.n != shape.n || table.k != shape.k) continue;
    const double measured = std::clamp(tokens, table.points.front().size, table.points.back().size);
    t.seconds *= table.at(measured) / form.time(measured, shape.n, shape.k, profile.machine->peaks()).seconds;
  }
  return t;
}

LinearTimes::LinearTimes(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, double gpus) {
  const LinearForm& form = *form_of(profile, model);
  const auto add = [](SplitTime& sum, const FormTime& t, double calls) {
    sum.seconds += calls * t.seconds;
    if (t.memory_bound) sum.memory_bound_s += calls * t.seconds;
  };
  const auto time_of = [&](const std::vector<LinearShape>& shapes, double tokens) {
    SplitTime sum;
    for (const LinearShape& shape : shapes) {
      add(sum, linear_time(profile, form, shape, tokens, machine), shape.calls);
    }
    return sum;
  };
  std::vector<LinearShape> shapes = body_shapes(model, gpus);
  valid_to_ = form.valid_to;
  const MoeForm* experts = model.moe.experts > 0 ? experts_form_of(profile, model) : nullptr;
  if (experts != nullptr && experts->valid_to > 0) {
    valid_to_ = valid_to_ > 0 ? std::min(valid_to_, experts->valid_to) : experts->valid_to;
  }
  const ExpertLayer layer = routed_layer(model, gpus);
  body_ = TokenCurve([&](double tokens) {
    SplitTime sum = time_of(shapes, tokens);
    if (experts != nullptr) {
      const MoeCall call{layer, tokens, routed_at_random(layer, tokens)};
      add(sum, experts->time(call, machine, false), routed_layers(model));
    }
    return sum;
  });
  head_ = TokenCurve([&](double tokens) { return time_of({head_shape(model, gpus)}, tokens); });
  shapes.push_back(head_shape(model, gpus));
  has_tables_ = std::any_of(profile.tables.linear.begin(), profile.tables.linear.end(), [&](const LinearTable& t) {
    return t.weights == form.weights &&
           std::any_of(shapes.begin(), shapes.end(), [&](const LinearShape& s) { return s.n == t.n && s.k == t.k; });
  });
}

namespace {

/// Index i of the interval [axis[i], axis[i + 1]] that holds x, at an end the outermost.
std::size_t interval(const std::vector<double>& axis, double x) {
  std::size_t i = 0;
  while (i + 2 < axis.size() && x > axis[i + 1]) ++i;
  return i;
}

}  // namespace

NumberFormat kv_format(const LlmSpec& model) {
  return model.kv_bytes_per_element <= 1.0 ? NumberFormat::fp8 : NumberFormat::bf16;
}

bool AttentionTimes::covers(const KernelProfile& profile, const LlmSpec& model, const Machine& machine,
                            std::string& why) {
  const NumberFormat kv = kv_format(model);
  if (profile.fitted.decode_attention.empty() || profile.fitted.prefill_attention.empty()) {
    why = "the profile has no fitted forms";
  } else if (model.attention == AttentionKind::mla) {
    why = "forms cover grouped-query attention";
  } else if (model.kv_bytes_per_element != 1.0 && model.kv_bytes_per_element != 2.0) {
    why = "the KV cache is neither bf16 nor fp8";
  } else if (form_for(profile.fitted.decode_attention, &DecodeForm::kv, kv) == nullptr ||
             form_for(profile.fitted.prefill_attention, &TiledForm::kv, kv) == nullptr) {
    why = fmt::format("the profile has no fitted forms for a {} KV cache", word(kv));
  } else if (machine.multiprocessors <= 0) {
    why = "the GPU's multiprocessors are not given";
  } else {
    return true;
  }
  return false;
}

AttentionTimes::AttentionTimes(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, double gpus)
    : machine_(machine),
      measured_(profile.machine->peaks()),
      layers_(static_cast<double>(model.layers)),
      kv_share_(model.kv_copies(static_cast<std::int64_t>(gpus)) / gpus),
      kv_bytes_per_token_(static_cast<double>(model.kv_bytes_per_token()) * kv_share_ / layers_),
      further_query_share_(profile.further_query_share.value),
      launches_(profile.launches) {
  const NumberFormat kv = kv_format(model);
  shape_ = {static_cast<double>(model.heads) / gpus, static_cast<double>(model.kv_heads) * kv_share_,
            static_cast<double>(model.head_dim)};
  decode_ = *form_for(profile.fitted.decode_attention, &DecodeForm::kv, kv);
  if (!decode_.correction.empty()) {
    constexpr std::size_t kHeadDimAxis = 2;
    const std::vector<double>& dims = decode_.correction.axes[kHeadDimAxis];
    head_dims_ = {dims.front(), dims.back()};
  }
  plane_ = CorrectionPlane(decode_.correction.with_last({shape_.head_dim, shape_.heads / shape_.kv_heads}));
  decode_.correction = {};
  prefill_ = *form_for(profile.fitted.prefill_attention, &TiledForm::kv, kv);
  if (const TiledForm* mixed = form_for(profile.fitted.mixed_attention, &TiledForm::kv, kv)) {
    mixed_ = *mixed;
    has_mixed_ = true;
  }
  for (const DecodeTable& table : profile.tables.decode_attention) {
    if (table.kv != kv || table.heads != shape_.heads || table.kv_heads != shape_.kv_heads ||
        table.head_dim != shape_.head_dim) {
      continue;
    }
    has_grid_ = true;
    grid_warm_ = table.warm;
    as_measured_ = machine_ == measured_ && (!table.warm || decode_.hits_in_serving);
    grid_ = {};
    for (const double length : table.kv_lengths) grid_.log_kv.push_back(std::log(length));
    for (const DecodeRow& row : table.rows) {
      grid_.log_requests.push_back(std::log(row.requests));
      for (const double s : row.seconds) grid_.log_s.push_back(std::log(s));
    }
    grid_.kv_from = table.kv_lengths.front();
    grid_.kv_to = table.kv_lengths.back();
    grid_.requests_from = table.rows.front().requests;
    grid_.requests_to = table.rows.back().requests;
  }
}

double AttentionTimes::Grid::at(double requests, double kv) const {
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

FormTime AttentionTimes::at_least(FormTime streaming, double flops_s) const {
  const double arithmetic_s = decode_.t0_s + flops_s / layers_;
  return arithmetic_s > streaming.seconds ? FormTime{arithmetic_s, false} : streaming;
}

FormTime AttentionTimes::decode_time(const DecodeCall& call, const Machine& machine, bool warm) const {
  FormTime t = decode_.time(call, machine, warm);
  if (!plane_.empty() && machine.as_measured) {
    t.seconds *= plane_.at(call.requests * call.kv_heads, std::max(call.mean_kv, 1.0));
  }
  return t;
}

FormTime AttentionTimes::decode(const AttentionWork& work, double read_bytes) const {
  const double requests = requests_of(work);
  const double kv_bytes = kv_per_layer(read_bytes);
  DecodeCall call{
      requests,        shape_.heads,    kv_bytes,       work.query_tokens > 0 ? work.pairs / work.query_tokens : 0,
      work.longest_kv, shape_.kv_heads, shape_.head_dim};
  if (!has_grid_ || kv_bytes <= 0) return decode_time(call, machine_, false);
  // The table at the nearest measured point, carried from there by the form: ratio 1 inside, on the measured machine.
  const double tokens = kv_bytes / requests / kv_bytes_per_token_;
  const double kv = std::clamp(tokens, grid_.kv_from, grid_.kv_to);
  const double n = std::clamp(requests, grid_.requests_from, grid_.requests_to);
  const double uneven_s = decode_.uneven_s(call, machine_);
  FormTime t{grid_.at(n, kv) + uneven_s, true};
  if (as_measured_ && kv == tokens && n == requests) return t;
  call.longest_kv = 0;
  const DecodeCall at{n, shape_.heads, n * kv * kv_bytes_per_token_, kv, 0, shape_.kv_heads, shape_.head_dim};
  const double carried = decode_time(call, machine_, false).seconds / decode_time(at, measured_, grid_warm_).seconds;
  t.seconds = grid_.at(n, kv) * carried + uneven_s;
  return t;
}

template <class Each>
void AttentionTimes::each_chunk(const StepWork& work, Each&& each) const {
  if (!work.chunks.empty()) {
    for (const PrefillChunk& c : work.chunks) each(c);
  } else if (work.prefill.query_tokens > 0) {
    const double n = work.prefill.query_tokens;
    each(PrefillChunk{n, std::max(work.prefill.pairs / n - (n + 1) / 2, 0.0)});
  }
}

FormTime AttentionTimes::prefill(const StepWork& work) const {
  TiledCall call;
  each_chunk(work, [&](const PrefillChunk& c) { prefill_.add_chunk(call, c.tokens, c.before, shape_); });
  for (const AttentionWork* w : {&work.verify, &work.decode}) {
    if (!tiled(*w)) continue;
    const double queries = w->queries_each();
    const double before = std::max(w->pairs / w->query_tokens - (queries + 1) / 2, 0.0);
    prefill_.add_chunk(call, queries, before, shape_, requests_of(*w));
  }
  return prefill_.time(call, shape_, machine_);
}

FormTime AttentionTimes::mixed(const StepWork& work) const {
  TiledCall call;
  each_chunk(work, [&](const PrefillChunk& c) { mixed_.add_chunk(call, c.tokens, c.before, shape_); });
  for (const AttentionWork* w : {&work.verify, &work.decode}) {
    if (w->query_tokens <= 0) continue;
    const double requests = requests_of(*w);
    mixed_.add_decodes(call, requests, w->query_tokens / requests, w->pairs / w->query_tokens, w->longest_kv,
                       kv_per_layer(w == &work.decode ? w->bytes_read(further_query_share_) : w->kv_bytes), shape_);
  }
  return mixed_.time(call, shape_, machine_);
}

SplitTime AttentionTimes::time(const StepWork& work, double decode_flops_s, double verify_flops_s) const {
  SplitTime sum;
  const auto add = [&](const FormTime& t) {
    sum.seconds += t.seconds;
    if (t.memory_bound) sum.memory_bound_s += t.seconds;
  };
  if (one_launch(work)) {
    add(mixed(work));
  } else {
    const bool decode_tiled = tiled(work.decode), verify_tiled = tiled(work.verify);
    if (work.decode.query_tokens > 0 && !decode_tiled) {
      const FormTime t = decode(work.decode, work.decode.bytes_read(further_query_share_));
      add(work.decode.queries_each() > 1 ? at_least(t, decode_flops_s) : t);
    }
    if (work.verify.query_tokens > 0 && !verify_tiled) {
      add(at_least(decode(work.verify, work.verify.kv_bytes), verify_flops_s));
    }
    if (work.prefill.query_tokens > 0 || decode_tiled || verify_tiled) add(prefill(work));
  }
  return {sum.seconds * layers_, sum.memory_bound_s * layers_};
}

bool AttentionTimes::within_domain(const StepWork& work) const {
  const bool shared = one_launch(work);
  const bool decode_tiled = shared || tiled(work.decode), verify_tiled = shared || tiled(work.verify);
  const double streamed = kv_per_layer((decode_tiled ? 0 : work.decode.bytes_read(further_query_share_)) +
                                       (verify_tiled ? 0 : work.verify.kv_bytes));
  if (decode_.valid_to > 0 && streamed > decode_.valid_to) return false;
  if (!decode_tiled && has_grid_ && requests_of(work.decode) > grid_.requests_to) return false;
  double longest = 0;
  each_chunk(work, [&](const PrefillChunk& c) { longest = std::max(longest, c.before + c.tokens); });
  if (decode_tiled) longest = std::max(longest, work.decode.longest_kv);
  if (verify_tiled) longest = std::max(longest, work.verify.longest_kv);
  const double valid_to = shared ? mixed_.valid_to : prefill_.valid_to;
  return valid_to <= 0 || longest <= valid_to;
}

}  // namespace kvsim::models
