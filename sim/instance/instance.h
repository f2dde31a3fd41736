// An instance: one engine with its group of GPUs, its memory, its link to where more KV is kept, and the step loop. It
// is the same wherever it stands. The decode policy decides what is computed, the schedule policy when, and the route
// where a request goes afterwards.
#pragma once

#include <cstdint>
#include <string>

#include "sim/instance/composer.h"

namespace kvsim::serving {

class Instance {
 public:
  Instance(const InstanceEnvironment& environment, const InstanceSpec& spec, const SchedulePolicyEntry& schedule)
      : composer_(environment, spec, schedule, *this), parts_(composer_.parts()), whole_(composer_.whole()) {}

  /// Why this request could never run here, or an empty string.
  [[nodiscard]] std::string refusal(const Request& request) const { return whole_.refusal(request); }
  /// Takes over a request that has arrived now. With a route of its own it has its memory, and Route::on_entered()
  /// follows.
  void submit(Request& request);

  // For a route.
  /// The request's prompt is computed, or it decodes or drafts (Request::direct), from the next step on.
  void begin(Request& r, Phase phase);
  /// It takes part in no further step.
  void stop(Request& r) { parts_.stop(r); }
  /// One of the other kinds of work, once, after what was queued before.
  void once(Request& r, Work work) { composer_.once(r, work); }
  /// Its verification, likewise, while the last of its full KV is on its way: arrived() follows, and the step ends when
  /// the last layer, which needs that, can have run.
  void verify_as_it_arrives(Request& r);
  void arrived(const Request& r) { parts_.loop.arrived(r); }
  /// Something has changed that the next step may depend on.
  void wake() { composer_.wake(); }
  /// Hears when a step is to be decided, which may be given work by once().
  void before_steps(engine::Callback tell) { composer_.before_steps(tell); }
  /// before_steps() hears of steps that nothing else changes, too.
  void set_every_step(bool every) { composer_.set_every_step(every); }
  /// Whether requests that come enter at once (Admission).
  [[nodiscard]] bool admits_at_once() const { return parts_.admission.at_once(); }
  /// Counts loads under way for requests that entered: so many more, or fewer.
  void await_loads(std::int64_t change) { composer_.await_loads(change); }

  /// Tokens still to be prefilled or generated: what a router balances.
  [[nodiscard]] std::int64_t outstanding_tokens() const { return parts_.outstanding_tokens; }
  /// Ends the warm-up: everything measured so far is forgotten.
  void start_measuring();
  /// Adds what was measured to the environment's measurements; the run ends now.
  void finish_measuring();
  [[nodiscard]] const ComputedWork& computed() const { return parts_.computed; }
  /// Writes into requests what they have come to; between two calls it may lag behind.
  void update_requests();
  void update(Request& r) { parts_.loop.uniform_batch().update(r); }
  /// Conservation laws of memory. Throws InvariantViolation.
  void check_conservation() const;

  /// GPU memory for KV in the whole group, and who has it.
  [[nodiscard]] KvHoldings& memory() { return parts_.memory; }
  [[nodiscard]] const KvHoldings& memory() const { return parts_.memory; }
  [[nodiscard]] machine::GpuGroup& gpus() { return parts_.loop.gpus(); }
  [[nodiscard]] const machine::GpuGroup& gpus() const { return parts_.loop.gpus(); }
  [[nodiscard]] const RequestQueues& requests() const { return parts_.queues; }
  /// Between its GPUs and where more KV is, where that is not planned (KvLink).
  [[nodiscard]] const transport::GroupLanes& lanes() const { return parts_.link.lanes; }

 private:
  Composer composer_;
  InstanceParts& parts_;
  WholeRoute& whole_;
};

}  // namespace kvsim::serving
