#include "models/kernels/step_operators.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "models/kernels/state_work.h"
#include "models/kernels/step_account.h"
#include "models/kernels/step_time.h"

namespace kvsim::models {
namespace {

/// The best figure behind an operator: a table comes before a form, and that before the roofline.
void note_origin(const std::vector<UsedFigure>& figures, std::string_view operation, StepOperator& of) {
  const std::string table = "profile.tables." + std::string(operation),
                    form = "profile.fitted." + std::string(operation);
  const auto begins_with = [&figures](std::string_view path) {
    return std::find_if(figures.begin(), figures.end(), [path](const UsedFigure& f) {
      return std::string_view(f.name).substr(0, path.size()) == path;
    });
  };
  const std::array<std::pair<std::string, const char*>, 2> ways{{{table, "table"}, {form, "form"}}};
  for (const auto& [path, word] : ways) {
    if (const auto found = begins_with(path); found != figures.end()) {
      of.from = word;
      of.source = found->source;
      of.error = found->error;
      return;
    }
  }
  const bool weights = operation == "linear" || operation == "moe";
  const std::string_view roofline = weights ? "profile.linear" : "profile.attention";
  of.from = "roofline";
  if (const auto found = begins_with(roofline); found != figures.end()) of.source = found->source;
}

/// Of linear layers in this format: figures have their forms in the order of the model's formats.
void note_form_of(const std::vector<UsedFigure>& figures, const LlmSpec& model, NumberFormat format, StepOperator& of) {
  const std::vector<NumberFormat> formats = model.weight_formats();
  auto before = std::find(formats.begin(), formats.end(), format) - formats.begin();
  for (const UsedFigure& f : figures) {
    if (f.name != "profile.fitted.linear" || before-- > 0) continue;
    of.source = f.source;
    of.error = f.error;
    return;
  }
}

constexpr const char* kOfKernels = "neither";  // until accounts say more

void note_shares(const GpuSpec& gpu, double flops_per_s, StepOperator& of) {
  if (of.seconds <= 0) return;
  of.memory_share = of.bytes / gpu.memory_bytes_per_s.value / of.seconds;
  of.flops_share = of.flops / flops_per_s / of.seconds;
  of.binds = kOfKernels;
}

/// What a mixture adds to a step's linear layers, and how much of their time and work that is.
struct Experts {
  StepOperator beside{"router and shared experts"};
  StepOperator routed{"routed experts"};
};

/// On one GPU; bytes are those of weights. The operators' seconds are parts of `body_s`, all linear layers but the
/// head.
Experts experts_of(const GpuSpec& gpu, const KernelProfile& profile, const LlmSpec& model, const Parallelism& parallel,
                   const SharedWork& work, double body_s, double body_bytes, double body_flops) {
  Experts e;
  const auto gpus = static_cast<double>(parallel.tensor);
  const double tokens = work.rank.tokens();
  const auto expert_gpus = static_cast<double>(parallel.expert_gpus());
  const double layers = routed_layers(model);
  const auto hidden = static_cast<double>(model.hidden);
  const auto expert = static_cast<double>(model.expert_parameters());
  const double beside = model.shared_of_expert() * expert + hidden * static_cast<double>(model.moe.experts);
  const double parameter_bytes =
      static_cast<double>(model.expert_weight_bytes()) / (layers * expert * static_cast<double>(model.moe.experts));
  e.beside.bytes = layers * beside * parameter_bytes / gpus;
  e.beside.flops = 2 * layers * beside * tokens / gpus;
  e.routed.bytes = layers * expert * model.experts_touched(work.tokens) * parameter_bytes / expert_gpus;
  e.routed.flops = 2 * layers * expert * static_cast<double>(model.moe.experts_per_token) * work.tokens / expert_gpus;
  const Machine machine = machine_for(gpu, profile);
  std::string why;
  if (LinearTimes::covers(profile, model, machine, why)) {
    const NumberFormat format = model.weight_format();
    const auto sum_s = [&](const std::vector<LinearShape>& shapes) {
      return linear_times(profile, model, shapes, tokens, machine).seconds;
    };
    const MoeCall call = experts_call(model, parallel, work.tokens);
    const double routed_s =
        layers * form_for(profile.fitted.moe, &MoeForm::weights, format)->time(call, machine, false).seconds;
    const double router_s = sum_s({router_shape(model)}), shared_s = sum_s(shared_expert_shapes(model, gpus));
    const bool beside_each_other = shared_s > 0 && tokens <= kSharedExpertsBesideRouted;
    const double both_s =
        beside_each_other
            ? beside_each_other_s(shared_s, routed_s, experts_streamed_s(model, parallel, machine, work.tokens))
            : shared_s + routed_s;
    // In proportion: the step's own curve is linear between the token counts that it is worked out for. Of experts that
    // run beside each other, the shared ones have what the others do not hide.
    const double all_s = sum_s(body_shapes(model, gpus)) - shared_s + both_s;
    const double unhidden_s = std::max(both_s - routed_s, 0.0);
    e.beside.seconds = body_s * (router_s + unhidden_s) / all_s;
    if (shared_s > 0) {  // what is read and computed meanwhile, likewise
      const double hidden_share = 1 - std::min(unhidden_s / shared_s, 1.0);
      const double moved = layers * model.shared_of_expert() * expert * hidden_share / gpus;
      e.beside.bytes -= moved * parameter_bytes, e.routed.bytes += moved * parameter_bytes;
      e.beside.flops -= 2 * moved * tokens, e.routed.flops += 2 * moved * tokens;
    }
    e.routed.seconds = body_s * std::min(routed_s, both_s) / all_s;
    return e;
  }
  const auto bytes_s = [&](double bytes) {
    return bytes / (profile.linear_bandwidth_efficiency.value * gpu.memory_bytes_per_s.value);
  };
  const auto flops_s = [&](double flops) {
    return flops /
           (profile.linear_compute_efficiency.at(tokens) * Machine::of(gpu).flops_per_s(model.arithmetic_format()));
  };
  const double other_bytes = body_bytes - e.routed.bytes, other_flops = body_flops - e.routed.flops;
  e.routed.seconds = std::min(std::max(bytes_s(e.routed.bytes), flops_s(e.routed.flops)), body_s);
  e.beside.seconds =
      (body_s - e.routed.seconds) *
      (bytes_s(other_bytes) >= flops_s(other_flops) ? e.beside.bytes / other_bytes : e.beside.flops / other_flops);
  return e;
}

/// Makes the sum of all, in this order, the step's time: parts of a sum add up to it but for the last bits. Where no
/// last bit of one operator does it, because the sum rounds past, one of the next does.
void close_sum(std::vector<StepOperator>& operators, double total_s) {
  const auto missing_s = [&] {
    double sum_s = 0;
    for (const StepOperator& o : operators) sum_s += o.seconds;
    return total_s - sum_s;
  };
  constexpr int kRounds = 4;
  for (StepOperator& o : operators) {
    if (o.seconds <= 0) continue;
    for (int i = 0; i < kRounds && missing_s() != 0; ++i) o.seconds += missing_s();
  }
  for (StepOperator& o : operators) o.share = total_s > 0 ? o.seconds / total_s : 0;
}

std::vector<StepOperator> operators_on(const GpuSpec& gpu, const Interconnect& links, const KernelProfile& profile,
                                       const LlmSpec& model, const Parallelism& parallel, const StepWork& step) {
  const StepTime time = StepTimer(gpu, links, profile, model, parallel).time(step);
  const std::vector<UsedFigure> figures = used_figures(gpu, profile, model, parallel.tensor);
  const SharedWork shared = parallel.tensor_only() ? SharedWork{step, step.tokens(), 1} : shared_work(step, parallel);
  const StepWork& work = shared.rank;
  const auto gpus = static_cast<double>(parallel.tensor), ranks = static_cast<double>(parallel.attention_data);
  const double tokens = work.tokens();
  // What the ranks share of the weights and of the arithmetic: routed experts.
  const double experts_bytes = model.moe.experts > 0
                                   ? static_cast<double>(model.expert_weight_bytes()) *
                                         model.experts_touched(shared.tokens) / static_cast<double>(model.moe.experts)
                                   : 0;
  const double experts_flops =
      routed_layers(model) * 2 * static_cast<double>(model.moe.experts_per_token * model.expert_parameters());
  const double linear_flops_per_s = Machine::of(gpu).flops_per_s(model.arithmetic_format());
  const auto head = static_cast<double>(model.vocabulary * model.hidden);
  const double head_bytes = model.head_weight_bytes();

  StepOperator linear{"linear layers", time.linear_s - time.head_s};
  linear.bytes =
      tokens > 0 ? (model.weight_bytes_read(shared.tokens) - head_bytes - experts_bytes * (1 - 1 / ranks)) / gpus : 0;
  linear.flops =
      ((model.linear_flops_per_token() - 2 * head) * tokens + experts_flops * (shared.tokens / ranks - tokens)) / gpus;
  StepOperator logits{"LM head", time.head_s};
  logits.bytes = work.logit_tokens > 0 ? head_bytes / gpus : 0;
  logits.flops = 2 * head * work.logit_tokens / gpus;
  StepOperator attention{"attention", time.attention_s - time.state_s - time.indexer_s};
  attention.bytes = (work.decode.kv_bytes + work.verify.kv_bytes + work.prefill.kv_bytes) * model.reads_of_kv() *
                    model.as_read().kv_copies(parallel.tensor) / gpus;
  attention.flops =
      (work.decode.pairs + work.verify.pairs + work.prefill.pairs) * model.attention_flops_per_pair() / gpus;
  const LeftOut outside = left_out(model, parallel.tensor, work);
  attention.bytes -= outside.kv_bytes / gpus;
  attention.flops -= outside.flops / gpus;
  const LayerLoad of_states = state_load(model, gpus, work), of_indexers = indexer_load(model, work);
  attention.bytes -= of_indexers.bytes;
  StepOperator states{"recurrent states", time.state_s};
  states.bytes = of_states.bytes;
  states.flops = of_states.flops;
  StepOperator indexers{"indexers", time.indexer_s};
  indexers.bytes = of_indexers.bytes;
  indexers.flops = of_indexers.flops;
  note_origin(figures, "linear", linear);
  logits.from = linear.from;
  logits.source = linear.source;
  logits.error = linear.error;
  if (linear.from == "form") note_form_of(figures, model, model.head_format(), logits);
  const Launch launch = profile.launches.of(work);
  const bool one_launch =
      launch == Launch::mixed && form_for(profile.fitted.mixed_attention, &TiledForm::kv, kv_format(model));
  const bool tiles =
      launch == Launch::prefill || (work.prefill.query_tokens > 0 && work.prefill.query_tokens == tokens);
  const bool latent = model.attention == AttentionKind::mla;
  const bool several = work.verify.kv_bytes > work.decode.kv_bytes || work.decode.queries_each() > 1;
  const bool verifies = several && form_for(profile.fitted.verify_attention, &VerifyForm::kv, kv_format(model));
  note_origin(figures,
              latent       ? (tiles ? "latent_prefill_attention" : "latent_decode_attention")
              : one_launch ? "mixed_attention"
              : tiles      ? "prefill_attention"
              : verifies   ? "verify_attention"
                           : "decode_attention",
              attention);
  std::vector<StepOperator> operators;
  if (model.moe.experts > 0 && tokens > 0) {
    Experts e = experts_of(gpu, profile, model, parallel, shared, linear.seconds, linear.bytes, linear.flops);
    for (StepOperator* o : {&e.beside, &e.routed}) {
      linear.seconds -= o->seconds;
      linear.bytes -= o->bytes;
      linear.flops -= o->flops;
      note_shares(gpu, linear_flops_per_s, *o);
    }
    note_origin(figures, "linear", e.beside);
    note_origin(figures, "moe", e.routed);
    operators = {linear, e.beside, e.routed};
  } else {
    operators = {linear};
  }
  note_shares(gpu, linear_flops_per_s, operators.front());
  note_shares(gpu, Machine::of(gpu).flops_per_s(model.head_format()), logits);
  note_shares(gpu, gpu.bf16_flops_per_s.value, attention);

  operators.push_back(logits);
  operators.push_back(attention);
  for (StepOperator* o : {&states, &indexers}) {
    if (o->seconds <= 0) continue;
    note_origin(figures, o->name, *o);
    note_shares(gpu, gpu.bf16_flops_per_s.value, *o);
    operators.push_back(*o);
  }
  if (parallel.gpus() > 1) {
    StepOperator messages{"collectives", time.collectives_s};
    const double exchanges =
        parallel.attention_data > 1 ? routed_layers(model) : 0;  // of tokens with experts, and back
    const double reductions = all_reduces(model) - exchanges + 1;
    const auto hidden = static_cast<double>(model.hidden);
    if (parallel.tensor > 1) {
      messages.bytes =
          kCarriedBytes * (reductions * tokens * hidden + work.logit_tokens * static_cast<double>(model.vocabulary));
    }
    messages.bytes += kCarriedBytes * exchanges * 2 * shared.tokens * hidden;
    const bool reduces = parallel.tensor > 1;
    const CollectiveTimes times(links, reduces ? Collective::all_reduce : Collective::all_gather,
                                profile.collective_library, reduces ? parallel.tensor : parallel.gpus());
    messages.binds = "collectives";
    messages.from = times.source() != nullptr ? "table" : "estimate";
    messages.source = times.source() != nullptr ? *times.source() : links.peer.read_bytes_per_s.source;
    operators.push_back(messages);
  }
  const double iteration_s = tokens > 0 ? profile.iteration_overhead_s.value : 0;
  const DraftCosts drafts = profile.drafts.value_or(DraftCosts{});
  const double round_s = drafts.host_s(work) + drafts.layers_s(work, model);
  StepOperator elementwise{"norms, activations, sampling",
                           time.overhead_s - iteration_s - round_s - time.launch_s - work.extra_gpu_s};
  elementwise.binds = "fixed times";
  elementwise.from = profile.fitted.elementwise ? "form" : "none";
  if (profile.fitted.elementwise) elementwise.source = profile.fitted.elementwise->source;
  StepOperator iteration{"launch and scheduling of an iteration", iteration_s};
  iteration.binds = "host";
  iteration.from = "constant";
  iteration.source = profile.iteration_overhead_s.source;
  operators.push_back(elementwise);
  operators.push_back(iteration);
  if (round_s > 0) {
    StepOperator round{"verifying drafts, beside kernels", round_s};
    round.binds = "fixed times";
    round.from = "constant";
    round.source = drafts.round_s.value > 0 ? drafts.round_s.source : drafts.layer_s.source;
    operators.push_back(round);
  }
  if (time.launch_s > 0) {
    StepOperator launching{"launching kernels", time.launch_s};
    launching.binds = "launches";
    launching.from = "constant";
    launching.source = (is_captured(profile, work) ? profile.launch.graph_s : profile.launch.kernel_s).source;
    operators.push_back(launching);
  }
  if (work.extra_gpu_s > 0)
    operators.push_back({.name = "extra kernels", .seconds = work.extra_gpu_s, .from = "caller"});
  close_sum(operators, time.total_s);
  return operators;
}

}  // namespace

std::vector<StepOperator> step_operators(const GpuSpec& gpu, const Interconnect& links, const KernelProfile& profile,
                                         const LlmSpec& model, const Parallelism& parallel, const StepWork& step) {
  std::vector<StepOperator> operators = operators_on(gpu, links, profile, model, parallel, step);
  std::array<std::vector<StepOperator>, 4> twice;  // by memory and arithmetic
  for (const std::size_t i : {1U, 2U, 3U}) {
    const GpuSpec faster = faster_gpu(gpu, (i & 1U) != 0 ? 2 : 1, (i & 2U) != 0 ? 2 : 1);
    twice[i] = operators_on(faster, links, profile, model, parallel, step);
  }
  for (StepOperator& o : operators) {
    if (o.binds != kOfKernels) continue;
    const auto [bound, saved] = shared_out<2>([&](const std::array<bool, 2>& of) {
      const std::vector<StepOperator>& there = twice[(of[0] ? 1U : 0U) + (of[1] ? 2U : 0U)];
      const auto same = std::find_if(there.begin(), there.end(), [&o](const auto& p) { return p.name == o.name; });
      return same == there.end() ? 0 : std::clamp(1 - same->seconds / o.seconds, 0.0, kSavedByTwice);
    });
    constexpr double kMostOfIt = 0.5;
    if (bound[0] + bound[1] >= kMostOfIt) o.binds = bound[0] >= bound[1] ? "memory" : "arithmetic";
  }
  return operators;
}

}  // namespace kvsim::models
