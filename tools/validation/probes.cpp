#include "tools/validation/probes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "models/acceptance/acceptance.h"
#include "models/catalogue/catalogue.h"
#include "models/kernels/step_time.h"
#include "models/prefetch/prefetch_spec.h"
#include "models/schema/spelling.h"
#include "planner/closed_form/symbols.h"
#include "planner/paths/path_plan.h"
#include "planner/paths/scenario_problem.h"
#include "planner/plan/scenario_costs.h"
#include "planner/plan/scenario_plan.h"
#include "sim/transport/fabric.h"
#include "tools/validation/expression.h"

namespace kvsim::validation {
namespace {

const models::Catalogue& catalogue() {
  static const models::Catalogue built_in = models::Catalogue::built_in();
  return built_in;
}

/// link(name, read | write, bytes, transfers, links): bytes/s of so many transfers, submitted together and served one
/// after another, over equal links side by side, from submission to the arrival of the last byte. Reading is towards
/// the GPU; of storage, reading it.
double link_rate(const Question& q) {
  const models::LinkSpec spec = catalogue().link(q.arguments[0]);
  const bool read = q.word(1, {"read", "write"}) == 0;
  const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(q.number(i)); };
  const std::int64_t bytes = whole(2), transfers = whole(3), count = whole(4);
  engine::Simulator simulator;
  transport::Fabric fabric(simulator, nullptr);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string owner = fmt::format("{}", i);
    const transport::LinkId link =
        fabric.link(q.arguments[0], owner, (read ? spec.read_bytes_per_s : spec.write_bytes_per_s).value);
    transport::Lane& lane = fabric.add_lane({owner,
                                             q.arguments[0],
                                             {link},
                                             engine::from_seconds(spec.latency_s.value),
                                             engine::from_seconds(spec.setup_s.value)});
    for (std::int64_t j = 0; j < transfers; ++j) lane.submit({bytes / count});
  }
  simulator.run();
  return static_cast<double>(bytes) * static_cast<double>(transfers) / simulator.now().seconds();
}

/// all_reduce(link, library, GPUs, bytes): seconds.
double all_reduce_s(const Question& q) {
  const auto gpus = static_cast<std::int64_t>(q.number(2));
  return models::CollectiveTimes(catalogue().link(q.arguments[0]), models::Collective::all_reduce, q.arguments[1], gpus)
      .seconds(q.number(3));
}

/// kernel(GPU, operator, amount, KV bytes per element) of a Llama-3.1-70B step on one GPU; memory is not asked whether
/// it fits. decode_attention: share of the bandwidth at so many bytes of KV a layer; decode_s: seconds with so many
/// tokens of KV; streaming: share of the bandwidth at which weights are read for so many tokens; linear and
/// prefill_attention: shares of the bf16 FLOP/s for so many tokens.
double kernel(const Question& q) {
  const models::GpuSpec gpu = catalogue().gpu(q.arguments[0]);
  models::LlmSpec model = catalogue().model("llama-3.1-70b");
  model.kv_bytes_per_element = q.number(3);
  const models::StepTimer timer(gpu, catalogue().link(gpu.peer_link), catalogue().profile(gpu.profile), model, 1);
  const double amount = q.number(2);
  const double head = 2.0 * static_cast<double>(model.vocabulary * model.hidden);
  const double flops_per_token = model.linear_flops_per_token() - head;
  models::StepWork work;
  switch (q.word(1, {"decode_attention", "decode_s", "streaming", "linear", "prefill_attention"})) {
    case 0:
      work.decode.query_tokens = 1;
      work.decode.kv_bytes = amount * static_cast<double>(model.layers);
      work.decode.pairs = work.decode.kv_bytes / static_cast<double>(model.kv_bytes_per_token());
      return work.decode.kv_bytes / timer.time(work).attention_s / gpu.memory_bytes_per_s.value;
    case 1:
      work.decode.query_tokens = 1;
      work.decode.kv_bytes = amount * static_cast<double>(model.kv_bytes_per_token());
      work.decode.pairs = amount;
      return timer.time(work).attention_s;
    case 2:
      work.decode.query_tokens = amount;
      return flops_per_token / 2 * model.weight_bytes_per_parameter / timer.time(work).linear_s /
             gpu.memory_bytes_per_s.value;
    case 3:
      work.prefill.query_tokens = amount;
      return flops_per_token * amount / timer.time(work).linear_s / gpu.bf16_flops_per_s.value;
    default:
      work.prefill.query_tokens = amount;
      work.prefill.pairs = amount * (amount + 1) / 2;
      return work.prefill.pairs * model.attention_flops_per_pair() / timer.time(work).attention_s /
             gpu.bf16_flops_per_s.value;
  }
}

/// accepted_tokens(compressor, keep ratio, drafted): expected of a round by the catalogue's agreement.
double accepted_tokens(const Question& q) {
  const auto drafted = static_cast<std::int64_t>(q.number(2));
  const models::CompressorSpec spec = catalogue().compressor(q.arguments[0]);
  return models::AcceptanceModel({}, spec.agreement_at(q.number(1)), drafted).expected_accepted(drafted);
}

/// step_kl(compressor, keep ratio): nats a step.
double step_kl(const Question& q) {
  return catalogue().compressor(q.arguments[0]).step_kl(q.number(1));
}

/// score(compressor, keep ratio): of tasks, relative to full KV.
double score(const Question& q) {
  return catalogue().compressor(q.arguments[0]).quality_at(q.number(1));
}

/// prefetched_score(compressor, group, top k, context, on_demand | speculative): the same with so many pairs fetched
/// beside the quantiser's own copy.
double prefetched_score(const Question& q) {
  const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(q.number(i)); };
  models::CompressorSpec quantiser = catalogue().compressor(q.arguments[0]);
  quantiser.group_size = whole(1);
  models::PrefetchSpec prefetch;
  prefetch.top_k = whole(2);
  prefetch.attention = catalogue().attention_profile(models::default_attention_profile);
  return models::prefetch_quality(prefetch, quantiser, whole(3), q.word(4, {"on_demand", "speculative"}) == 1).score;
}

/// attention_mass(profile, share of the keys): on the most attended of them.
double attention_mass(const Question& q) {
  return models::coverage_at(catalogue().attention_profile(q.arguments[0]), q.number(1));
}

/// gather(link, copies, rows, bytes of a row): seconds.
double gather(const Question& q) {
  const models::LinkSpec link = catalogue().link(q.arguments[0]);
  const models::GatherMethod* copies = models::find_gather(link, q.arguments[1], q.number(3));
  if (copies == nullptr) {
    throw ExpressionError(fmt::format("link {} has no copies \"{}\"", q.arguments[0], q.arguments[1]));
  }
  return models::gather_s(link, *copies, q.number(2), q.number(3));
}

/// resident_share(compressor, group, fetched, context): of the KV, with so many fetched tokens in 16 bit beside the
/// compressor's recent ones.
double resident_share(const Question& q) {
  models::CompressorSpec spec = catalogue().compressor(q.arguments[0]);
  const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(q.number(i)); };
  spec.group_size = whole(1);
  return models::resident_fraction(spec, spec.residual_tokens + whole(2), whole(3));
}

/// recent_tokens(compressor): those that it keeps in 16 bit.
double recent_tokens(const Question& q) {
  return static_cast<double>(catalogue().compressor(q.arguments[0]).residual_tokens);
}

/// RUN.mean_slice_s(track, name, after): mean length of what began after so many seconds.
double mean_slice_s(const Question& q) {
  double sum = 0;
  int count = 0;
  for (const engine::RecordedSlice& s : q.run->trace.track(q.arguments[0])) {
    if (s.name != q.arguments[1] || s.begin_s < q.number(2)) continue;
    sum += s.length_s();
    ++count;
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

/// RUN.longest_pause_s(track, after): between two slices.
double longest_pause_s(const Question& q) {
  const auto& slices = q.run->trace.track(q.arguments[0]);
  double pause = 0;
  for (std::size_t i = 1; i < slices.size(); ++i) {
    if (slices[i - 1].end_s > q.number(1)) pause = std::max(pause, slices[i].begin_s - slices[i - 1].end_s);
  }
  return pause;
}

/// RUN.reload_round(track, after, count | seconds): the first round of back-to-back reloads, from its first byte to its
/// last.
double reload_round(const Question& q) {
  constexpr double kPauseBetweenRounds_s = 0.5;
  double begin = 0, end = 0;
  int reloads = 0;
  for (const engine::RecordedSlice& s : q.run->trace.track(q.arguments[0])) {
    const bool first_of_a_round = s.begin_s - end > kPauseBetweenRounds_s;
    if (reloads > 0 && first_of_a_round) break;
    if (s.name == "reload" && (reloads > 0 || (s.begin_s > q.number(1) && first_of_a_round)) && reloads++ == 0) {
      begin = s.begin_s;
    }
    end = s.end_s;
  }
  return q.word(2, {"count", "seconds"}) == 0 ? reloads : end - begin;
}

/// RUN.planned_tokens_per_s(): what the path LP says of it.
double planned_tokens_per_s(const Question& q) {
  return planner::plan_paths(planner::path_problem(q.run->scenario)).tokens_per_s;
}

/// RUN.ideal_speedup(x, c, published | conserving): over full KV, by the closed form, bytes over peak bandwidths alone
/// (VeriCache, appendix B), as printed or without dividing a reload by the iterations that it spans (equation 8).
double ideal_speedup(const Question& q) {
  planner::PlanRequest request;
  request.model = q.word(2, {"published", "conserving"}) == 0 ? planner::TransferModel::published
                                                              : planner::TransferModel::conserving;
  request.refinements = planner::kNoRefinements;
  request.least_draft_length = request.most_draft_length = static_cast<std::int64_t>(q.number(0));
  request.keep_ratios = {q.number(1)};
  const planner::ScenarioPlan plan = planner::plan(q.run->scenario, request);
  return plan.optimum.throughput_tokens_per_s /
         plan.full_kv.value_or(planner::OperatingPoint{}).throughput_tokens_per_s;
}

/// RUN.composed_speedup(x, c, d_e, published | per_token): the same with the run's drafter, which proposes d_e - 1
/// further tokens at each of x positions (VeriCache, appendix C); transfers as printed. x = 0: the drafter on full KV
/// alone, d_e tokens a step.
double composed_speedup(const Question& q) {
  const scenario::Scenario& s = q.run->scenario;
  const serving::DecodeConfig& decode = s.serving.decode;
  if (!decode.drafter) throw ExpressionError("composed_speedup(): the run has no drafter");
  const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(q.number(i)); };
  const std::int64_t x = whole(0), d_e = whole(2);
  if (x < 0 || d_e < 1) throw ExpressionError("composed_speedup(): expected x >= 0 and d_e >= 1");
  const planner::ScenarioCosts costs(s, planner::kNoRefinements);
  const models::LlmSpec& network = decode.drafter->spec.network;
  const double gpus = static_cast<double>(s.serving.cluster.uniform().parallel.gpus());
  const auto bytes = [](double value) { return std::llround(value); };
  planner::SymbolsProblem problem;
  problem.symbols.M = s.serving.model.weight_bytes();
  problem.symbols.KV = bytes(costs.kv_bytes());
  problem.symbols.HBM = problem.symbols.M + bytes(costs.room_bytes());
  problem.symbols.BW_hbm = gpus * s.serving.cluster.uniform().gpu.memory_bytes_per_s.value;
  problem.symbols.BW_link = gpus * s.serving.cluster.uniform().host_link.read_bytes_per_s.value;
  problem.model = planner::TransferModel::published;
  problem.least_draft_length = problem.most_draft_length = x;
  problem.keep_ratios = {q.number(1)};
  problem.acceptance = decode.acceptance;
  problem.agreement = decode.compressor.agreement;
  problem.reload = decode.compressor.reload;
  planner::Drafter drafter;
  drafter.weights = std::llround(network.weight_bytes_read(1));
  drafter.KV = network.kv_bytes_per_token() * (costs.prompt() + costs.generated());
  drafter.least = drafter.most = d_e;
  drafter.acceptance = decode.drafter->law();
  drafter.composition =
      q.word(3, {"published", "per_token"}) == 0 ? planner::Composition::published : planner::Composition::per_token;
  problem.drafter = drafter;
  const planner::Cycle full = planner::full_kv_cycle(problem.symbols);
  std::vector<planner::Cycle> cycles;
  if (x > 0) {
    cycles = planner::cycles_of(problem);
  } else {
    planner::Cycle alone = full;
    const auto passes = static_cast<double>(d_e - 1);
    const auto weights = static_cast<double>(drafter.weights), kv = static_cast<double>(drafter.KV);
    alone.tokens = 1 + models::AcceptanceModel(drafter.acceptance, 1, d_e).expected_accepted(d_e - 1);
    alone.gpu = planner::GpuTime::linear(full.gpu.fixed_s() + passes * weights / problem.symbols.BW_hbm,
                                         full.gpu.per_request_s() + passes * kv / problem.symbols.BW_hbm);
    alone.room_bytes -= weights;
    alone.resident_bytes += kv;
    alone.average_bytes = alone.compressed_bytes = alone.resident_bytes;
    cycles.push_back(std::move(alone));
  }
  const auto rate = [&](const std::vector<planner::Cycle>& some) {
    return planner::search(problem.model, some, {}).optimum.value_or(planner::OperatingPoint{}).throughput_tokens_per_s;
  };
  return rate(cycles) / rate({full});
}

/// RUN.accepted_deviation(drafted): standard deviation of a round's accepted length by the drafter's law,
/// E[n^2] = sum of (2 i - 1) S(i).
double accepted_deviation(const Question& q) {
  const auto drafted = static_cast<int>(q.number(0));
  const auto& drafter = q.run->scenario.serving.decode.drafter;
  if (!drafter) throw ExpressionError("accepted_deviation(): the run has no drafter");
  const models::AcceptanceModel model(drafter->law(), 1, drafted);
  double squares = 0;
  for (int i = 1; i <= drafted; ++i) squares += (2 * i - 1) * model.survival(i);
  const double mean = model.expected_accepted(drafted);
  return std::sqrt(squares - mean * mean);
}

/// RUN.commonest_method_share(): of the compressed objects that are stored, those of the commonest method.
double commonest_method_share(const Question& q) {
  std::map<std::string, double> methods;
  double compressed = 0, largest = 0;
  for (const auto& [tier, contents] : q.run->document.at("placement").at("contents").items()) {
    for (const auto& [option, objects] : contents.at("options").items()) {
      if (option == "full") continue;
      methods[option.substr(0, option.find(' '))] += objects.get<double>();
      compressed += objects.get<double>();
    }
  }
  for (const auto& [method, objects] : methods) largest = std::max(largest, objects);
  return compressed > 0 ? largest / compressed : 0;
}

constexpr Probe kProbes[] = {
    {"link", 5, false, link_rate},
    {"all_reduce", 4, false, all_reduce_s},
    {"kernel", 4, false, kernel},
    {"accepted_tokens", 3, false, accepted_tokens},
    {"step_kl", 2, false, step_kl},
    {"score", 2, false, score},
    {"prefetched_score", 5, false, prefetched_score},
    {"attention_mass", 2, false, attention_mass},
    {"gather", 4, false, gather},
    {"resident_share", 4, false, resident_share},
    {"recent_tokens", 1, false, recent_tokens},
    {"mean_slice_s", 3, true, mean_slice_s},
    {"longest_pause_s", 2, true, longest_pause_s},
    {"reload_round", 3, true, reload_round},
    {"planned_tokens_per_s", 0, true, planned_tokens_per_s},
    {"ideal_speedup", 3, true, ideal_speedup},
    {"composed_speedup", 4, true, composed_speedup},
    {"accepted_deviation", 1, true, accepted_deviation},
    {"commonest_method_share", 0, true, commonest_method_share},
};

}  // namespace

double Question::number(std::size_t i) const {
  const std::string& text = arguments.at(i);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  throw ExpressionError(fmt::format("\"{}\": expected a number as argument {}", text, i + 1));
}

std::size_t Question::word(std::size_t i, const std::vector<std::string>& words) const {
  const auto found = std::find(words.begin(), words.end(), arguments.at(i));
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  throw ExpressionError(fmt::format("unknown word \"{}\"{}", arguments[i], schema::suggest(arguments[i], words)));
}

std::span<const Probe> probes() {
  return kProbes;
}

}  // namespace kvsim::validation
