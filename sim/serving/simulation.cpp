#include "sim/serving/simulation.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/engine/invariant.h"
#include "sim/engine/simulator.h"
#include "sim/serving/arrivals.h"
#include "sim/serving/objectives.h"
#include "sim/transport/fabric.h"

namespace kvsim::serving {
namespace {

using engine::Callback;
using engine::SimTime;

/// Feeds a system with requests and runs it to the end.
class Run final : private ArrivalsListener {
 public:
  Run(const ServingConfig& config, RequestFeed& feed, const SimulationOptions& options,
      const SystemFactory& make_system)
      : config_(config),
        options_(options),
        arrivals_(simulator_, config_, feed, outcome_.measured, *this),
        system_(make_system({simulator_, config_, outcome_.measured, fabric_, options_.trace,
                             Callback::to<&Run::on_finished>(this), Callback::to<&Run::on_released>(this), requests_,
                             feed.prefix_block_tokens(), arrivals_.front_end()})) {
    outcome_.fallbacks = system_->fallbacks();
  }

  SimulationOutcome run() {
    const auto warmup = engine::from_seconds(config_.run.warmup_s);
    if (warmup.ns > 0) {
      warming_up_ = true;
      simulator_.schedule_at(SimTime{} + warmup, Callback::to<&Run::end_warmup>(this));
    }
    if (config_.run.judge_until_s) {
      simulator_.schedule_at(SimTime{} + engine::from_seconds(*config_.run.judge_until_s),
                             Callback::to<&Run::end_arrivals>(this));
    }
    if (options_.timeline) start_sampling();
    arrivals_.start();
    if (config_.run.duration_s) {
      run_until(SimTime{} + engine::from_seconds(*config_.run.duration_s));
    } else {
      run_to_completion();
    }
    return finish();
  }

 private:
  bool comes() override {
    watch_arrivals(outcome_.measured.arrived);
    outcome_.measured.arrived += 1;
    outcome_.measured.arrived_measured += warming_up_ ? 0 : 1;
    if (options_.requests) options_.requests->arrived(simulator_.now());
    return warming_up_;
  }

  void too_many_refused(std::uint64_t in_a_row) override {
    throw ConfigurationError("workload", fmt::format("{} requests in a row were refused; the last {}", in_a_row,
                                                     outcome_.refusals.empty() ? "" : outcome_.refusals.back()));
  }

  [[nodiscard]] bool interrupted() const override { return outcome_.interrupted; }

  void watch_in_flight() const {
    const Measurements& m = outcome_.measured;
    const std::int64_t most = config_.run.most_in_flight;
    if (static_cast<std::int64_t>(m.arrived - m.completed - m.refused) < most) return;
    throw TooManyInFlight(
        "run.most_in_flight",
        fmt::format("{} requests are in the system at {:g} s, and one more comes: expected fewer, more "
                    "replicas, or a higher limit (each takes some 500 bytes of memory)",
                    most, simulator_.now().seconds()));
  }

  /// Arrivals may come faster than time passes: they are watched, too, and their memory has a limit.
  void watch_arrivals(std::uint64_t id) {
    constexpr std::uint64_t kArrivalsBetweenLooks = 1 << 10;
    if (id % kArrivalsBetweenLooks == kArrivalsBetweenLooks - 1) watch();
    watch_in_flight();
  }

  Request& add(const models::RequestSpec& spec, SimTime at, bool warming_up) {
    const std::uint64_t id = requests_.end();
    Request& r = requests_.add(id);
    r.id = id;
    r.arrival = at;
    r.prompt = spec.prompt_tokens;
    r.output = spec.output_tokens;
    r.kind = static_cast<std::uint16_t>(spec.kind);
    if (options_.requests) options_.requests->entered(id, spec);
    arrivals_.entered(id, spec, at);
    if (!warming_up) judgement_.arrived(r, at);
    return r;
  }

  bool enter(const models::RequestSpec& spec, SimTime at, bool warming_up) override {
    Request& r = add(spec, at, warming_up);
    const std::uint64_t id = r.id;
    if (std::string reason = system_->submit(r, spec); !reason.empty()) {
      constexpr std::size_t kReasonsKept = 3;
      r.phase = Phase::refused;
      outcome_.measured.refused += 1;
      judgement_.refused(r);
      arrivals_.refused(id, spec);
      if (outcome_.refusals.size() < kReasonsKept) {
        outcome_.refusals.push_back(fmt::format("request {} ({} + {} tokens) {}", spec.id, r.prompt, r.output, reason));
      }
      if (options_.requests) options_.requests->refused(at);
      requests_.erase(id);
      return false;
    }
    return true;
  }

  void on_finished(std::uint64_t id) {
    if (options_.requests) options_.requests->finished(requests_[id], system_->path_of(requests_[id]));
    arrivals_.finished(requests_[id]);
  }

  /// Deferred: the instance still holds pointers to it within its iteration.
  void on_released(std::uint64_t id) { simulator_.schedule_in({}, Callback::to<&Run::forget>(this, id)); }
  void forget(std::uint64_t id) { requests_.erase(id); }

  [[nodiscard]] double tokenised_s() const { return arrivals_.front_end() ? arrivals_.front_end()->work_s() : 0; }

  [[nodiscard]] bool idle() const {
    const Measurements& m = outcome_.measured;
    return m.arrived == m.completed + m.refused && (!arrivals_.sessions() || arrivals_.sessions()->under_way() == 0);
  }

  /// Without a duration the run ends with its last request, not with the last write-back or progress tick.
  void nothing_comes() override {
    if (!config_.run.duration_s && idle()) simulator_.stop();
  }

  void end_warmup() {
    Measurements fresh;
    const Measurements& old = outcome_.measured;
    fresh.arrived = old.arrived;
    fresh.completed = old.completed;
    fresh.refused = old.refused;
    fresh.preemptions = old.preemptions;
    fresh.waiting_before = waiting();
    ended_before_ = old.sessions.finished;
    tokenised_before_s_ = tokenised_s();
    sub_agents_before_ = old.sub_agent_s.count();
    fresh.sessions.begun = old.sessions.begun;
    fresh.sessions.cut = old.sessions.cut;
    fresh.sessions.alone = old.sessions.alone;
    fresh.sessions.sub_agents_begun = old.sessions.sub_agents_begun;
    fresh.sessions.sub_agents_cut = old.sessions.sub_agents_cut;
    outcome_.measured = std::move(fresh);
    warming_up_ = false;
    measure_begin_ = simulator_.now();
    fabric_.start_measuring();
    system_->start_measuring();
  }

  /// The requests that are counted have come: what comes after is there for them, or nothing does, and a queue drains.
  void end_arrivals() { waiting_at_last_arrival_ = waiting(); }

  /// The feed of an open workload has nothing more. Requests that all come at once have no time in which a queue could
  /// grow; sessions go on with further turns; and judging has an end of its own.
  void last_arrived() override {
    if (config_.run.judge_until_s || arrivals_.sessions() || warming_up_ || simulator_.now() <= measure_begin_) return;
    end_arrivals();
  }

  [[nodiscard]] std::uint64_t waiting() const {
    return static_cast<std::uint64_t>(system_->load().waiting + arrivals_.tokenising());
  }

  // Samples are taken and progress is asked for between events, never by one: watching a run does not change it.

  void start_sampling() {
    constexpr double kFirstPeriod_s = 0.1;
    constexpr std::size_t kMostAskedFor = std::size_t{1} << 16U;
    Timeline& t = outcome_.timeline;
    if (config_.run.sample_every_s) t.most = kMostAskedFor;
    t.period_s = config_.run.sample_every_s.value_or(kFirstPeriod_s);
    t.kv_capacity_bytes = system_->kv_capacity();
    next_sample_ = SimTime{} + engine::from_seconds(t.period_s);
  }

  void take_sample() {
    outcome_.timeline.add(system_->load(), fabric_.totals());
    next_sample_ = next_sample_ + engine::from_seconds(outcome_.timeline.period_s);
  }

  /// To `end`, with the samples on the way: each after all that happens at its time.
  void advance(SimTime end) {
    for (; next_sample_ <= end; take_sample()) {
      simulator_.run_until(next_sample_);
      if (simulator_.stopped()) return;
    }
    simulator_.run_until(end);
  }

  /// The samples that are due before the next event, if there is one: nothing but the clock moves.
  void sample_before_next_event() {
    for (; simulator_.pending() > 0 && next_sample_ < simulator_.next_time(); take_sample()) {
      simulator_.run_until(next_sample_);
    }
  }

  void run_until(SimTime end) {
    constexpr std::int64_t kLooks = 10000;
    const engine::Duration between = std::max(engine::from_seconds(1.0), engine::Duration{end.ns / kLooks});
    while (simulator_.now() < end && !simulator_.stopped()) {
      advance(std::min(end, simulator_.now() + between));
      if (config_.run.judge_until_s || !config_.run.most_misses.empty()) system_->update_requests();
      outcome_.given_up = !warming_up_ && judgement_.hopeless(simulator_.now());
      if (outcome_.given_up || judgement_.over(simulator_.now())) simulator_.stop();
      watch();
    }
  }

  void run_to_completion() {
    constexpr std::uint64_t kEventsBetweenLooks = 1 << 14;
    std::uint64_t look = kEventsBetweenLooks;
    while (!simulator_.stopped()) {
      if (options_.timeline) sample_before_next_event();
      if (!(options_.timeline ? simulator_.step(next_sample_) : simulator_.step())) return;
      if (simulator_.events_executed() < look) continue;
      look = simulator_.events_executed() + kEventsBetweenLooks;
      watch();
    }
  }

  void watch() {
    if (!options_.progress || options_.progress(simulator_.now())) return;
    outcome_.interrupted = true;
    simulator_.stop();
  }

  SimulationOutcome finish() {
    Measurements& m = outcome_.measured;
    if (simulator_.now() == SimTime::never()) {
      throw ConfigurationError("run.duration",
                               "the run lasts beyond the 292 years that the clock counts: expected a duration, or less "
                               "time between its events");
    }
    if (warming_up_ && !outcome_.interrupted) {
      throw ConfigurationError("run.warmup",
                               fmt::format("the run ended at {:.3f} s, before its warm-up of {:g} s was over",
                                           simulator_.now().seconds(), config_.run.warmup_s));
    }
    m.measured_s = (simulator_.now() - measure_begin_).seconds();
    if (arrivals_.front_end()) {
      m.tokenisers_s = m.measured_s * static_cast<double>(instances(config_.cluster));
      m.tokenising_s = std::min(tokenised_s() - tokenised_before_s_, m.tokenisers_s);
    }
    m.waiting_after = waiting_at_last_arrival_.value_or(waiting());
    m.runs_past_arrivals = waiting_at_last_arrival_ ? 1 : 0;
    system_->update_requests();
    // Requests that wait for the tokeniser have come, too, and are judged.
    for (const Arrivals::Come* come : arrivals_.come()) add(come->spec, come->at, come->warming_up);
    judgement_.close(simulator_.now());
    system_->finish_measuring();
    m.links = fabric_.measured();
    system_->check_conservation();
    fabric_.check_conservation();
    m.events = simulator_.events_executed();
    if (!config_.run.sample_every_s && outcome_.timeline.samples.empty()) outcome_.timeline = {};
    requests_.for_each([&m](const Request& r) { m.running += r.phase != Phase::finished ? 1 : 0; });
    KVSIM_ALWAYS(m.arrived == m.completed + m.refused + m.running, "requests were lost or counted twice");
    if (const SessionLog* sessions = arrivals_.sessions()) {
      m.sessions.sub_agents_under_way = sessions->sub_agents_under_way();
      m.sessions.under_way = sessions->under_way() - m.sessions.sub_agents_under_way;
      KVSIM_ALWAYS(m.sessions.begun == ended_before_ + m.sessions.finished + m.sessions.cut + m.sessions.under_way,
                   "sessions were lost or counted twice");
      KVSIM_ALWAYS(m.sessions.sub_agents_begun == sub_agents_before_ + m.sub_agent_s.count() +
                                                      m.sessions.sub_agents_cut + m.sessions.sub_agents_under_way,
                   "sub-agents were lost or counted twice");
    }
    KVSIM_ALWAYS(m.drafted_tokens == m.accepted_tokens + m.rejected_tokens,
                 "drafted tokens are neither accepted nor rejected");
    KVSIM_ALWAYS(outcome_.interrupted || config_.run.duration_s || m.running == 0, "requests never finished");
    return std::move(outcome_);
  }

  const ServingConfig& config_;
  const SimulationOptions& options_;
  engine::Simulator simulator_;
  engine::IdTable<Request> requests_;
  SimulationOutcome outcome_;
  transport::Fabric fabric_{simulator_, options_.trace};
  Arrivals arrivals_;
  std::unique_ptr<ServingSystem> system_;
  Judgement judgement_{config_, requests_, outcome_.measured};
  double tokenised_before_s_ = 0;                         // server-seconds within the warm-up
  std::optional<std::uint64_t> waiting_at_last_arrival_;  // of the judged ones, or of all
  std::uint64_t ended_before_ = 0;                        // sessions that finished within the warm-up
  std::uint64_t sub_agents_before_ = 0;                   // the same of sub-agents
  SimTime next_sample_ = SimTime::never();
  bool warming_up_ = false;
  SimTime measure_begin_;
};

}  // namespace

SimulationOutcome run_system(const ServingConfig& config, RequestFeed& feed, const SimulationOptions& options,
                             const SystemFactory& make_system) {
  ServingConfig own = config;
  own.decode = own_drafts(config.decode);
  Run run(own, feed, options, make_system);
  return run.run();
}

}  // namespace kvsim::serving
