// Record of requests: tokens as they are emitted, rounds as they are verified, requests as they finish. It is kept in
// the request itself and, after the warm-up, in the measurements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/compression/functional.h"
#include "sim/engine/simulator.h"
#include "sim/engine/time.h"
#include "sim/machine/gpu_group.h"
#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/measurements.h"
#include "sim/serving/request.h"
#include "sim/transport/link.h"

namespace kvsim::serving {

// Load over time: requests running and waiting, KV memory in use, and what GPUs and links did, sampled at equal
// periods. Samples are taken between events and change nothing.

/// One sample, over all replicas or nodes.
struct LoadSample {
  std::int64_t running = 0;             ///< requests admitted and not finished
  std::int64_t waiting = 0;             ///< requests that have arrived and were not admitted, or were preempted
  std::int64_t kv_bytes = 0;            ///< GPU memory reserved for KV
  std::int64_t kv_streaming_bytes = 0;  ///< of it, for full KV that streams in or lies there for a verification
  machine::GpuTime gpu;                 ///< since the start of the run
  std::uint64_t scored = 0;             ///< requests that finished since the start of the run, of a prompt store
  double quality = 0;                   ///< of these: sum of the scores of what they had loaded
};

/// Sample i is of the time (i + 1) period_s since the start of the run. At most `most` are kept: when they are full,
/// every second one goes and the period doubles. Busy times and scores are sums since the start, so that what happened
/// in a period is the difference of two samples, whatever was dropped between them.
struct Timeline {
  struct LinkSeries {
    std::int64_t links = 0;
    std::vector<double> busy_s;  ///< by sample
  };

  std::size_t most = 120;  ///< even
  double period_s = 0;     ///< 0: there is none
  std::int64_t kv_capacity_bytes = 0;
  std::vector<LoadSample> samples;
  std::map<std::string, LinkSeries> links;

  /// `totals`: of the same links every time, since the start of the run.
  void add(const LoadSample& sample, const std::map<std::string, transport::LinkTotals>& totals);
};

/// Fidelity of a finished request's output beside that of full-KV decoding.
struct OutputFidelity {
  bool lossless = true;
  double step_kl_nats = 0;                                                ///< per token, where lossy
  double quality = 1;                                                     ///< relative task score, where lossy
  models::FunctionalScores functional = models::functional_of_full_kv();  ///< relative functional correctness
};

/// Fidelity of a request that ends with so many tokens, its prompt decoded as it was. `decode`: the configured policy.
OutputFidelity decoding_fidelity(const ServingConfig& config, const DecodePolicy& decode, const KvGeometry& geometry,
                                 std::int64_t prompt, std::int64_t generated);

/// Fidelity of the output of a request that ends now, with the form that its prompt was loaded in.
OutputFidelity output_fidelity(const ServingConfig& config, const DecodePolicy& decode, const KvGeometry& geometry,
                               const Request& r);

/// Weights and memory for KV of one of `groups` alike groups of GPUs.
struct GroupMemory {
  std::int64_t weights_bytes = 0;
  std::int64_t kv_reserved_peak_bytes = 0;  ///< since measuring began
  std::int64_t groups = 1;
};

/// Adds where the time of a group's GPUs went and what of their memory was in use, since measuring began.
void add_group(Measurements& m, const machine::GpuGroup& gpus, const GroupMemory& memory);

class RequestLog {
 public:
  /// All of it outlives the log.
  RequestLog(const engine::Simulator& simulator, const ServingConfig& config, Measurements& measured)
      : simulator_(simulator), config_(config), measured_(measured) {}

  /// Ends the warm-up.
  void start_measuring() { measure_begin_ = simulator_.now(); }

  /// `tokens` more tokens are final.
  void emitted(Request& r, std::int64_t tokens);
  /// One token by an ordinary step of each of so many requests, `gap` after the one before; what is written in the
  /// requests themselves is UniformBatch's.
  void emitted_together(std::int64_t requests, engine::Duration gap);
  /// One token by an ordinary step or a prompt's last chunk.
  void emitted_directly(Request& r);
  /// A verification accepted `accepted` of `drafted` tokens; its own token follows unless the request is complete.
  /// Returns the tokens that became final, and emits them.
  std::int64_t verified(Request& r, std::int64_t drafted, std::int64_t accepted);
  /// The request has all its tokens. Throws engine::InvariantViolation where they do not add up.
  void finished(Request& r, const OutputFidelity& fidelity);

 private:
  void count(std::int64_t tokens);
  void sample_gap(double gap_s, std::int64_t requests);
  bool answered(const Request& r, double quality);

  const engine::Simulator& simulator_;
  const ServingConfig& config_;
  Measurements& measured_;
  engine::SimTime measure_begin_;
};

}  // namespace kvsim::serving
