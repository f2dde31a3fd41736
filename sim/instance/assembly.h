// Prompts put together from chunks: stored ones are loaded, missing ones computed alone, and a small model chooses
// tokens, all side by side. Then the chosen tokens and what follows the chunks are computed over the whole prompt.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/kernels/step_work.h"
#include "sim/engine/simulator.h"
#include "sim/machine/gpu_group.h"
#include "sim/serving/instance_environment.h"
#include "sim/serving/request.h"

namespace kvsim::serving {

/// Listener to the end of a prompt's assembly.
class AssemblyListener {
 public:
  virtual ~AssemblyListener() = default;
  /// All chunks' KV is there, and the tokens are chosen: its rows can be computed.
  virtual void on_assembled(Request& r) = 0;
};

class Assembly {
 public:
  /// All of it outlives this.
  Assembly(const InstanceEnvironment& environment, machine::GpuGroup& gpus, AssemblyListener& listener)
      : env_(environment), gpus_(gpus), listener_(listener) {}

  /// The request was admitted. If chunks of it are stored, they are loaded next, and loaded() follows; try_end() must
  /// follow either way.
  void begin(Request& r);
  /// All stored chunks have arrived.
  void loaded(Request& r);
  /// Ends the assembly if nothing is left to be done; whatever is left is done in steps.
  bool try_end(Request& r);
  /// The request was preempted: nothing uses what still arrives for it.
  static void abandon(Request& r);
  /// Whether anything that a loading request loads crosses a link.
  [[nodiscard]] static bool waits_for_link(const Request& r) {
    return !r.being_assembled() || r.prefill.assembling->load_pending_;
  }

  /// With what the rest leaves of the step's tokens missing chunks are computed, in order of admission. The small model
  /// reads as many tokens a step as the large one may.
  void batch(std::span<Request* const> loading, models::StepWork& work);
  /// Adds `rows` more tokens over the whole prompt, of a prompt that was put together; the last ones if `last`.
  void batch_rows(Request& r, std::int64_t rows, bool last, models::StepWork& work) const;
  // Work of the step.
  void clear();
  [[nodiscard]] bool works() const { return !step_.empty(); }
  [[nodiscard]] bool computes() const;  ///< chunks, not only scores
  /// The step is over.
  void apply();

  /// Its first token is about to be out.
  void note(const Request& r) const;

 private:
  /// Part of an assembly that a step does.
  struct Entry {
    Request* request;
    std::uint64_t admission;
    std::int64_t apart;   // tokens of chunks computed alone
    std::int64_t scored;  // tokens that the small model reads
  };

  void on_selected(std::uint64_t request);
  [[nodiscard]] engine::Callback selected(Request& r);
  std::int64_t batch_apart(const Request& r, std::int64_t budget, models::StepWork& work) const;

  const InstanceEnvironment& env_;
  machine::GpuGroup& gpus_;
  AssemblyListener& listener_;
  std::vector<Entry> step_;
  std::vector<models::PrefillChunk> scoring_;  // of the current step; kept for its memory
};

}  // namespace kvsim::serving
