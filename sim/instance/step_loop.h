// The step loop of a group of GPUs. A step is decided, composed, timed and applied, and the next one follows. The
// listener decides which requests take part, and their outcomes. The loop decides what their parts add to a step, and
// how uniform steps become one event.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/time.h"
#include "sim/instance/fetched_steps.h"
#include "sim/instance/proposals.h"
#include "sim/instance/uniform_batch.h"
#include "sim/machine/gpu_group.h"
#include "sim/memory/kv_memory.h"
#include "sim/serving/instance_environment.h"
#include "sim/serving/kv_holdings.h"
#include "sim/serving/request.h"
#include "sim/serving/step_parts.h"

namespace kvsim::serving {

/// Decides what a group of GPUs computes, step by step.
class StepLoopListener : public FastForwardListener {
 public:
  /// A step may begin. False: none does until the group is woken.
  virtual bool decide() = 0;
  /// Requests that an auxiliary drafter may propose tokens for, in the step that begins or has just ended.
  [[nodiscard]] virtual std::span<Request* const> decoding() const = 0;
  /// Adds everybody to the step by StepLoop::add() and add_chunk(), and the uniform batch. False: nobody takes part.
  virtual bool compose() = 0;
  /// Beside the uniform batch nothing is to be computed, and nothing will be without an event.
  [[nodiscard]] virtual bool only_uniform() const = 0;
  /// The composed step starts: calls StepLoop::start().
  virtual void start(machine::Step step) = 0;
  /// No step begins. `lags`: KV of earlier steps still leaves.
  virtual void idle(bool lags) = 0;
  /// A step has ended that is not one of many at once; apply() follows.
  virtual void on_step_ended() = 0;
  /// Results of the step take effect.
  virtual void apply() = 0;
};

class StepLoop final : private machine::StepListener {
 public:
  /// All of it outlives this. `memory`: UniformBatch's. `drafts_read`: StepParts'.
  StepLoop(const GroupEnvironment& environment, StepLoopListener& listener, const std::string& name, KvHoldings* memory,
           memory::KvForm drafts_read)
      : env_(environment),
        listener_(listener),
        parts_(env_.config, env_.group, env_.decode, env_.geometry, env_.timer, drafts_read),
        gpus_(env_.gpus, *this, name),
        fast_forward_(env_.simulator, env_.step_times, env_.config.run.stretches, gpus_, uniform_batch_, listener),
        uniform_batch_(parts_, env_.geometry, memory, env_.trace != nullptr),
        proposals_(env_) {}

  /// Steps fetch KV, if at all, over this link; `on_offloaded`: FetchedSteps'. To be called once.
  void connect(const KvLink& link, engine::Callback on_offloaded) { fetched_.emplace(env_, gpus_, link, on_offloaded); }

  [[nodiscard]] machine::GpuGroup& gpus() { return gpus_; }
  [[nodiscard]] const machine::GpuGroup& gpus() const { return gpus_; }
  [[nodiscard]] UniformBatch& uniform_batch() { return uniform_batch_; }
  [[nodiscard]] const UniformBatch& uniform_batch() const { return uniform_batch_; }
  [[nodiscard]] Proposals& proposals() { return proposals_; }
  [[nodiscard]] const Proposals& proposals() const { return proposals_; }
  [[nodiscard]] FetchedSteps& fetched() { return *fetched_; }
  [[nodiscard]] const FetchedSteps& fetched() const { return *fetched_; }
  [[nodiscard]] const StepParts& parts() const { return parts_; }
  [[nodiscard]] const FastForward& stretch() const { return fast_forward_; }
  /// The step being composed, under way, or the latest.
  [[nodiscard]] ForwardPass& pass() { return pass_; }
  [[nodiscard]] const ForwardPass& pass() const { return pass_; }

  // From within compose().
  /// The request decodes, drafts, or does something once.
  void add(Request& r, const StepPart& part);
  /// Adds so many tokens of the request's prompt, of which an assembly adds the forward pass itself. `compressed`
  /// tokens of the context are compressed after it.
  void add_chunk(Request& r, std::int64_t tokens, std::int64_t compressed);

  /// From within StepLoopListener::start().
  void start(const machine::Step& step);
  /// The last layers of the full KV that the request's verification reads are on their way. The step that verifies it
  /// ends a layer after arrived() at the earliest, which tells that they are there, or not wanted any more.
  void await(const Request& r) { awaited_.push_back(&r); }
  void arrived(const Request& r);

 private:
  void begin_step() override;
  void end_step() override;
  void run_step();
  [[nodiscard]] bool awaits_kv() const;
  void on_computed();
  void end_if_complete();

  const GroupEnvironment& env_;
  StepLoopListener& listener_;
  StepParts parts_;
  // A step of a stretch needs these, from the object of its event on: see EventQueue::prefetch_next().
  machine::GpuGroup gpus_;
  FastForward fast_forward_;
  UniformBatch uniform_batch_;
  ForwardPass pass_;
  Proposals proposals_;
  std::optional<FetchedSteps> fetched_;
  std::vector<const Request*> awaited_;        // await()
  bool awaits_kv_ = false, computed_ = false;  // the step under way, where it awaits or has awaited KV
  engine::SimTime last_layer_ends_;            // of that step, once its KV is there
};

}  // namespace kvsim::serving
