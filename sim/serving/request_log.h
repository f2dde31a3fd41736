// What becomes of requests, written down: tokens as they are emitted, rounds as they are verified, requests as they
// finish, in the request itself and, after the warm-up, in the measurements.
#pragma once

#include <cstdint>

#include "sim/engine/simulator.h"
#include "sim/serving/config.h"
#include "sim/serving/measurements.h"
#include "sim/serving/request.h"

namespace kvsim::serving {

/// What a finished request's output is worth beside that of full-KV decoding.
struct OutputFidelity {
  bool lossless = true;
  double step_kl_nats = 0;  ///< per token, where lossy
  double quality = 1;       ///< relative task score, where lossy
};

class RequestLog {
 public:
  /// All of it outlives the log.
  RequestLog(const engine::Simulator& simulator, const ServingConfig& config, Measurements& measured)
      : simulator_(simulator), config_(config), measured_(measured) {}

  /// Ends the warm-up.
  void start_measuring() { measure_begin_ = simulator_.now(); }
  [[nodiscard]] engine::SimTime measure_begin() const { return measure_begin_; }

  /// `tokens` more tokens are final.
  void emitted(Request& r, std::int64_t tokens);
  /// One token by an ordinary step or a prompt's last chunk.
  void emitted_directly(Request& r);
  /// A verification accepted `accepted` of `drafted` tokens; its own token follows unless the request is complete.
  /// Returns the tokens that became final, and emits them.
  std::int64_t verified(Request& r, std::int64_t drafted, std::int64_t accepted);
  /// The request has all its tokens. Throws engine::InvariantViolation where they do not add up.
  void finished(Request& r, const OutputFidelity& fidelity);

 private:
  bool answered(const Request& r, double quality);

  const engine::Simulator& simulator_;
  const ServingConfig& config_;
  Measurements& measured_;
  engine::SimTime measure_begin_;
};

}  // namespace kvsim::serving
