// Where the KV of prompts that were computed before may still be: tiers of memory and storage beside the replicas
// (sim/cache). Replicas ask when they admit a request, load what is found, compute the rest, and say when that is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/kernels/step_work.h"
#include "models/workload/request_source.h"
#include "sim/engine/simulator.h"
#include "sim/serving/measurements.h"
#include "sim/serving/request.h"
#include "sim/serving/request_log.h"
#include "sim/transport/lane.h"

namespace kvsim::serving {

/// Contexts to be decoded with every representation again, beside the requests of a batch: what the profile of a
/// context costs.
struct ProfilingWork {
  std::int64_t prefill_tokens = 0;     ///< computed first: what is stored is not whole
  std::vector<std::int64_t> contexts;  ///< tokens that each sequence attends to
  std::int64_t steps = 0;              ///< tokens that each decodes
  std::int64_t held_tokens = 0;        ///< KV that is in GPU memory meanwhile, in full tokens
};

/// As it stands here, nothing is stored anywhere.
class PromptStore {
 public:
  virtual ~PromptStore() = default;

  /// It keeps prompts, whatever it has of them now.
  [[nodiscard]] virtual bool stores() const { return false; }

  /// Before anything else: the lanes between the memory that it keeps prompts in and each replica's GPUs. They outlive
  /// it.
  virtual void connect(std::vector<transport::GroupLanes> /*replicas*/) {}

  /// Why this request could never run on a replica with so much KV memory, for what the store asks of it; or an empty
  /// string.
  [[nodiscard]] virtual std::string refusal(const Request&, const models::RequestSpec&,
                                            std::int64_t /*kv_bytes*/) const {
    return {};
  }

  /// A request came to a replica; `spec` says what its prompt shares with others.
  virtual void arrived(const Request&, const models::RequestSpec&, std::size_t /*replica*/) {}

  /// It may have come, and could never run.
  virtual void refused(const Request&) {}

  /// It goes to another group of GPUs than it came to.
  virtual void assigned(const Request&, std::size_t /*replica*/) {}

  /// Prefix of the request's prompt that could be loaded now.
  [[nodiscard]] virtual StoredPrefix find(const Request&) const { return {}; }
  /// Grows whenever find() may return something else for any request than before, but for its quality.
  [[nodiscard]] virtual std::uint64_t changes() const { return 0; }
  /// Loads that to its replica; `on_complete` runs when all of it is there, never within the call.
  virtual void load(const Request&, engine::Callback) {}

  /// Brings what a verification needs beside what was loaded at the latest admission (StoredPrefix::missing) to its
  /// replica; `on_complete` runs when all of it is there, never within the call.
  virtual void load_missing(const Request&, engine::Callback) {}
  /// Seconds that load() and load_missing() would take of links that are free, one tier after the other.
  [[nodiscard]] virtual double load_s(const Request&) const { return 0; }
  [[nodiscard]] virtual double load_missing_s(const Request&) const { return 0; }

  /// How the request's prompt is put together from what find() returns now, where prompts are put together at all.
  [[nodiscard]] virtual std::unique_ptr<PromptAssembly> assembly(const Request&) const { return nullptr; }
  /// Chooses tokens for an assembly that selects: the small model reads the prompt on GPUs of its own. `on_selected`
  /// runs when the tokens are chosen, never within the call.
  virtual void select_elsewhere(const Request&, engine::Callback) {}
  /// Seconds on the replica's GPUs for the small model to read these parts of prompts in one pass.
  [[nodiscard]] virtual double scoring_s(std::span<const models::PrefillChunk>) const { return 0; }

  /// All of its prompt's KV is on its replica now (of an assembly: all of its chunks' KV as they are stored): what was
  /// computed is stored, beside the decoding.
  virtual void computed(const Request&) {}
  /// The request was preempted and lost all its KV in GPU memory; that KV may be recomputed.
  virtual void preempted(const Request&) {}
  /// It has its last token, and its KV leaves the GPU. Returns what its context should be profiled again with, if its
  /// quality calls for it; profiling() follows if the replica has room.
  virtual std::optional<ProfilingWork> finished(const Request&) { return std::nullopt; }
  /// The work that finished() asked for begins. Returns a number for profiled().
  virtual std::uint64_t profiling(const Request&) { return 0; }
  /// It is done, and the context's whole KV on the GPU may be stored again.
  virtual void profiled(std::uint64_t) {}

  /// Figures that had to be replaced, in words, beyond those of the replicas.
  [[nodiscard]] virtual std::vector<std::string> fallbacks() const { return {}; }
  /// Adds what it knows: the requests that finished, and their quality.
  virtual void add_to(LoadSample&) const {}
  virtual void start_measuring() {}
  virtual void finish_measuring(Measurements&) {}
  /// Throws engine::InvariantViolation where a conservation law of tiers broke.
  virtual void check_conservation() {}
};

}  // namespace kvsim::serving
