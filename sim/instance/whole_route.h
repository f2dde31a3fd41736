// The route of requests that one instance serves from their prompt to their last token: what is stored of a prompt is
// loaded or put together, the rest is computed, and every next stage is at the same instance.
#pragma once

#include "sim/instance/assembly.h"
#include "sim/instance/instance_parts.h"
#include "sim/instance/profiling.h"

namespace kvsim::serving {

class WholeRoute final : public Route, private AssemblyListener, private LoadListener {
 public:
  /// `parts` outlives this.
  explicit WholeRoute(InstanceParts& parts);

  /// Why this request could never run here, or an empty string.
  [[nodiscard]] std::string refusal(const Request& r) const;
  /// A request arrives.
  void submit(Request& r);
  /// It was admitted.
  void enter(const Admitted& admitted);
  /// Nothing is to be computed. `lags`: KV of earlier steps still leaves.
  void idle(bool lags);

  [[nodiscard]] Assembly& assembly() { return assembly_; }
  [[nodiscard]] const Assembly& assembly() const { return assembly_; }
  [[nodiscard]] Profiling& profiling() { return profiling_; }

 private:
  void on_entered(Instance&, Request&) override {}
  [[nodiscard]] std::int64_t compressed(const Request& r) const override;
  void on_prefilled(Instance&, Request& r) override;
  void on_offloaded(Instance&, Request& r) override { parts_.offloading.offloaded(r.id); }
  void on_drafted(Instance&, Request&) override {}  // the schedule decides what follows
  void on_done(Instance&, Request& r, Work work) override;
  void on_preempted(Instance&, Request& r) override;
  void on_finished(Instance&, Request& r) override;
  void on_loaded(Request& r) override;
  void on_assembled(Request& r) override;
  void become_ready(Request& r);

  InstanceParts& parts_;
  FirstLoads loads_;
  Profiling profiling_;
  Assembly assembly_;
};

}  // namespace kvsim::serving
