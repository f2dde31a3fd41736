// The steps of an instance: who enters, who takes part in a step and with what, and what GPUs without work wait for.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "sim/instance/instance_parts.h"
#include "sim/instance/interference.h"
#include "sim/instance/step_results.h"
#include "sim/instance/whole_route.h"

namespace kvsim::serving {

class Composer final : private StepLoopListener {
 public:
  Composer(const InstanceEnvironment& environment, const InstanceSpec& spec, const SchedulePolicyEntry& schedule,
           Instance& of);

  [[nodiscard]] InstanceParts& parts() { return parts_; }
  [[nodiscard]] WholeRoute& whole() { return whole_; }

  // See Instance.
  void once(Request& r, Work work);
  void await_loads(std::int64_t change);
  void wake() {
    if (!composing_) parts_.loop.gpus().wake();
  }
  void before_steps(engine::Callback tell) { before_steps_ = tell; }
  void set_every_step(bool every) { every_step_ = every; }

 private:
  bool decide() override;
  [[nodiscard]] std::span<Request* const> decoding() const override { return parts_.queues.decoding(); }
  bool compose() override;
  [[nodiscard]] bool only_uniform() const override;
  void start(machine::Step step) override;
  void idle(bool lags) override;
  void on_step_ended() override;
  void apply() override;
  void on_uniform_step_ended() override;
  void on_uniform_step_begins() override;

  [[nodiscard]] ForwardPass& pass() { return parts_.loop.pass(); }
  [[nodiscard]] const ScheduleConfig& schedule() const { return parts_.env.config.schedule; }
  bool loads_first();
  void admit_before_step();
  void enter(const Admitted& admitted);
  void batch_decoding();
  bool batch_uniformly();
  void batch_once();
  /// The part of a decoding request in a step that has room for so many more tokens.
  [[nodiscard]] StepPart part_of(const Request& r, Action action, std::int64_t budget) const;
  void batch_prefill();
  /// The next chunk of a prompt, of at most `budget` tokens; returns its tokens.
  std::int64_t batch_chunk(Request& r, std::int64_t budget);
  [[nodiscard]] bool has_work() {
    return pass().work.tokens() > 0 || !pass().entries.empty() || whole_.assembly().works();
  }

  InstanceParts parts_;
  WholeRoute whole_;
  StepResults results_;
  Interference interference_;
  std::deque<StepEntry> once_;
  engine::Callback before_steps_;
  std::int64_t coming_ = 0;  // await_loads()
  bool every_step_ = false;
  bool composing_ = false;  // a route is asked while a step is being put together, which needs no waking
  bool entered_ = false;    // who enters with the coming step has, which waits for what is loaded of them
};

}  // namespace kvsim::serving
