#include "planner/paths/scenario_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/schema/units.h"
#include "planner/infeasible.h"
#include "planner/paths/path_costs.h"
#include "planner/plan/scenario_costs.h"
#include "sim/pools/configuration.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/step_parts.h"

namespace kvsim::planner {
namespace {

constexpr double kLeastToken = 1e-12;  // seconds; a step of more requests takes longer, if only by this
// What nodes of sim/pools do: a reload starts two of its lengths before its drafts are due, and what is to be done
// waits for the end of the step under way, half of one on average.
constexpr double kReloadLead = 2;
constexpr double kJoining = 0.5;

/// The straight line nearest to times at three batches.
StepLine line_through(const std::array<double, 3>& batches, const std::array<double, 3>& times) {
  double b = 0, t = 0, bb = 0, bt = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    b += batches[i] / 3;
    t += times[i] / 3;
  }
  for (std::size_t i = 0; i < batches.size(); ++i) {
    bb += (batches[i] - b) * (batches[i] - b);
    bt += (batches[i] - b) * (times[i] - t);
  }
  const double slope = std::max(kLeastToken, bt / bb);
  return {std::max(0.0, t - slope * b), slope};
}

class Derivation {
 public:
  Derivation(const scenario::Scenario& scenario, StepsOf lines)
      : config_(scenario.serving),
        topology_(config_.cluster.topology()),
        local_(topology_.instances.front()),
        remote_(topology_.instances.back()),
        drafts_(serving::find_decode_policy(config_.decode.policy)->verifies),
        x_(config_.decode.draft_length),
        lines_(lines),
        geometry_(serving::configured_geometry(config_)),
        traffic_(traffic_of(scenario)),
        prompt_(std::llround(traffic_.mean_context)),
        output_(std::max<std::int64_t>(1, std::llround(traffic_.mean_output))),
        capacity_(serving::kv_capacity_bytes(config_, geometry_)),
        slot_bytes_(geometry_.full_reservation(prompt_ + output_)) {}

  PathProblem problem() {
    refuse_what_does_not_fit();
    PathProblem p;
    p.residence = Residence::steps;
    p.pools = {local_.count, remote_.count};
    const auto full = static_cast<double>(geometry_.full_transfer(prompt_));
    p.request = {output_, drafts_ ? static_cast<double>(geometry_.compressed_transfer(prompt_, 0)) / full : 1.0, x_};
    p.acceptance = acceptance();
    p.symbols.M = static_cast<double>(config_.model.weight_bytes());
    p.symbols.KV = static_cast<double>(slot_bytes_);
    p.symbols.HBM = p.symbols.M + static_cast<double>(capacity_);
    p.symbols.BW_hbm =
        static_cast<double>(config_.cluster.parallel.tensor) * config_.cluster.gpu.memory_bytes_per_s.value;
    p.symbols.BW_h = rate(local_);
    p.symbols.BW_l = rate(remote_);
    p.steps = costs(p);
    for (const Path path : pools::usable_paths(config_)) {
      if (fits(path, *p.steps)) p.paths.push_back(path);
    }
    return p;
  }

 private:
  void refuse_what_does_not_fit() const {
    if (slot_bytes_ <= capacity_) return;
    throw Infeasible(
        fmt::format("no plan: the KV of one request ({} tokens of context, {} of output) takes {:.4g} GB, and a node "
                    "has {:.4g} GB for KV; a larger tensor-parallel group or memory_fraction would make room",
                    prompt_, output_, static_cast<double>(slot_bytes_) / kGB, static_cast<double>(capacity_) / kGB));
  }

  [[nodiscard]] static bool fits(Path path, const StepCosts& c) {
    const models::PathTraits& t = traits(path);
    if (!t.drafts) return true;
    const double local = t.cached ? c.verifying_slots : c.rereading_slots;
    const double remote = t.streams_rest ? c.streaming_slots : c.drafting_slots;
    return local <= c.slots.local && remote <= c.slots.remote;
  }

  /// As plain symbols can say it.
  [[nodiscard]] models::AcceptanceSpec acceptance() const {
    models::AcceptanceSpec spec = config_.decode.acceptance;
    if (drafts_ && spec.kind != models::AcceptanceKind::compressor) return spec;
    spec.kind = models::AcceptanceKind::constant;
    spec.agreement = drafts_ ? config_.decode.compressor.agreement_at(geometry_.compressed().ratio()) : 1.0;
    return spec;
  }

  /// Bytes per second of one load with nothing else under way.
  [[nodiscard]] double rate(const serving::InstancePool& pool) const {
    double rate = pool.link.spec.read_bytes_per_s.value;
    if (pool.shared_bytes_per_s) rate = std::min(rate, *pool.shared_bytes_per_s);
    if (topology_.memory.read_bytes_per_s) rate = std::min(rate, *topology_.memory.read_bytes_per_s);
    return rate;
  }

  [[nodiscard]] double busy_links(const serving::InstancePool& pool) const {
    const auto nodes = static_cast<double>(pool.count);
    return pool.shared_bytes_per_s ? std::min(nodes, *pool.shared_bytes_per_s / rate(pool)) : nodes;
  }

  [[nodiscard]] LoadCost load(const serving::InstancePool& pool, std::int64_t size) const {
    const auto bytes = static_cast<double>(size);
    return {bytes, bytes / rate(pool), pool.link.spec.latency_s.value + pool.link.spec.setup_s.value};
  }

  StepCosts costs(const PathProblem& p) const {
    StepCosts c;
    set_memory(c);
    set_steps(c);
    c.local_full = load(local_, geometry_.full_transfer(prompt_));
    c.remote_full = load(remote_, geometry_.full_transfer(prompt_));
    c.links = {busy_links(local_), busy_links(remote_)};
    const double all = c.links.local * p.symbols.BW_h + c.links.remote * p.symbols.BW_l;
    if (topology_.memory.read_bytes_per_s && *topology_.memory.read_bytes_per_s < all) {
      c.storage_bytes_per_s = *topology_.memory.read_bytes_per_s;
    }
    if (drafts_) set_drafting(c, p);
    return c;
  }

  void set_drafting(StepCosts& c, const PathProblem& p) const {
    const ExpectedRounds rounds = expected_rounds({p.acceptance, 1, x_}, x_, traffic_.outputs);
    c.rounds = rounds.rounds;
    c.drafts = rounds.drafts;
    c.reread_held = kReloadLead;
    c.joining = lines_ == StepsOf::one_request ? 0.0 : kJoining;
    c.round_trip_s = 2 * topology_.message_latency_s;
    c.local_reread = load(local_, geometry_.full_transfer(prompt_ + generated_before_a_round(c.rounds)));
    c.remote_compressed = load(remote_, geometry_.compressed_transfer(prompt_, 0));
    c.remote_rest = load(remote_, geometry_.full_transfer(prompt_) - geometry_.compressed_transfer(prompt_, 0));
    const serving::ClusterConfig& cluster = config_.cluster;
    const models::StepTimer timer(cluster.gpu, serving::interconnect(cluster), cluster.profile, config_.model,
                                  cluster.parallel.tensor);
    c.decompress_s = serving::decompression_s(config_, geometry_, timer, prompt_);
    const auto slots = [&](std::int64_t tokens) { return slots_of(geometry_.full_reservation(tokens)); };
    const std::int64_t whole = output_ + x_ + 1;
    const auto resident =
        static_cast<std::int64_t>(std::ceil(resident_tokens(config_.decode.compressor, geometry_, prompt_)));
    c.drafting_slots = slots(resident + whole);
    c.streaming_slots = slots(prompt_ + whole);
    c.verifying_slots = slots(prompt_ + whole);
    c.rereading_slots = slots(prompt_ + generated_before_a_round(c.rounds) + x_ + 1);
    c.held_slots = held_beside_a_reload(geometry_.full_reservation(prompt_ + whole));
  }

  /// A node that serves nobody takes whoever fits, which is next to nothing on average.
  [[nodiscard]] double held_beside_a_reload(std::int64_t reload) const {
    constexpr double kNextToNone = 1e-3;
    const auto whole = static_cast<double>(std::max<std::int64_t>(0, capacity_ - reload) / slot_bytes_);
    return std::clamp(whole, kNextToNone, static_cast<double>(config_.schedule.max_requests));
  }

  /// Tokens, over all rounds of a request: 0 before the first, as many less than all of them before the last.
  [[nodiscard]] std::int64_t generated_before_a_round(double rounds) const {
    return std::llround(static_cast<double>(output_) * (1 - 1 / rounds) / 2);
  }

  /// Of a node's slots, where both memory and the number of running requests limit them.
  [[nodiscard]] double slots_of(std::int64_t bytes) const {
    const double by_memory = static_cast<double>(capacity_ / slot_bytes_);
    const double slots = std::min(by_memory, static_cast<double>(config_.schedule.max_requests));
    return std::max(static_cast<double>(bytes) / static_cast<double>(slot_bytes_) * slots / by_memory,
                    slots / static_cast<double>(config_.schedule.max_requests));
  }

  void set_memory(StepCosts& c) const {
    const double slots =
        std::min(static_cast<double>(capacity_ / slot_bytes_), static_cast<double>(config_.schedule.max_requests));
    c.slots = {slots, slots};
  }

  void set_steps(StepCosts& c) const {
    const NodeSteps steps(config_, geometry_, traffic_);
    const double most = lines_ == StepsOf::one_request ? 2.0 : std::max(2.0, c.slots.local);
    const double middle = lines_ == StepsOf::one_request ? 1.0 : (1 + most) / 2;
    c.local = line_through({1, middle, most},
                           {steps.seconds(1, 0, 0), steps.seconds(middle, 0, 0), steps.seconds(most, 0, 0)});
    c.remote = c.local;
    if (!drafts_) return;
    const auto work = [&c](double more_s) { return std::max(kLeastToken, more_s) / c.local.token_s; };
    if (lines_ == StepsOf::one_request) {
      c.draft_work = work(steps.seconds(0, 1, 0) - c.local.base_s);
      c.verify_work = work(steps.seconds(0, 0, 1) - c.local.base_s);
      return;
    }
    c.draft_work = work((steps.seconds(0, most, 0) - steps.seconds(0, 1, 0)) / (most - 1));
    // Alone it brings a step about, beside others it makes one longer; a plan has both.
    const double alone = steps.seconds(0, 0, 1) - c.local.base_s;
    const double beside = steps.seconds(middle, 0, 1) - steps.seconds(middle, 0, 0);
    c.verify_work = work((alone + beside) / 2);
  }

  const serving::ServingConfig& config_;
  serving::Topology topology_;
  const serving::InstancePool& local_;
  const serving::InstancePool& remote_;
  bool drafts_;
  std::int64_t x_;
  StepsOf lines_;
  serving::KvGeometry geometry_;
  Traffic traffic_;
  std::int64_t prompt_;
  std::int64_t output_;
  std::int64_t capacity_;
  std::int64_t slot_bytes_;
};

}  // namespace

PathProblem path_problem(const scenario::Scenario& scenario, StepsOf lines) {
  return Derivation(scenario, lines).problem();
}

NodeSteps::NodeSteps(const serving::ServingConfig& config, const serving::KvGeometry& geometry, const Traffic& traffic)
    : config_(config),
      geometry_(geometry),
      prompt_(std::llround(traffic.mean_context)),
      generated_(std::llround(traffic.mean_generated)),
      timer_(config.cluster.gpu, serving::interconnect(config.cluster), config.cluster.profile, config.model,
             config.cluster.parallel.tensor) {}

double NodeSteps::seconds(double decoding, double drafting, double verifying) const {
  const Requests full{prompt_, generated_, nullptr, false, config_.decode.draft_length};
  models::StepWork work = average_work(geometry_, config_, full, decoding, verifying);
  const models::CompressorSpec& compressor = config_.decode.compressor;
  // Kept tokens are read by the compressor's kernel; quantised ones have been decompressed on arrival.
  const double factor =
      compressor.kind == models::CompressionKind::token_dropping ? compressor.attention_time_factor.value : 1.0;
  const double drafted = static_cast<double>(config_.decode.draft_length - 1) / 2;
  const double kept = resident_tokens(compressor, geometry_, prompt_);
  const double whole = static_cast<double>(generated_) + drafted;
  work.decode.query_tokens += drafting;
  work.decode.requests += drafting;
  work.decode.kv_bytes += drafting * (kept * factor + whole) * geometry_.full_read(1);
  work.decode.pairs += drafting * (kept + whole);
  work.logit_tokens += drafting;
  return timer_.time(work).total_s;
}

double resident_tokens(const models::CompressorSpec& compressor, const serving::KvGeometry& geometry,
                       std::int64_t prompt) {
  return compressor.kind == models::CompressionKind::token_dropping ? geometry.compressed().attended(prompt, 0)
                                                                    : static_cast<double>(prompt);
}

}  // namespace kvsim::planner
