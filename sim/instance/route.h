// Where requests go on when an instance has done its part. An instance computes prompts, tokens, drafts and
// verifications, and knows what engines' rules make of them; what follows for a request is its route's decision: on an
// ordinary replica the next stage at the same instance, between sites perhaps a message or a transfer.
#pragma once

#include <cstdint>

#include "sim/serving/request.h"
#include "sim/serving/step_parts.h"

namespace kvsim::serving {

class Instance;

class Route {
 public:
  virtual ~Route() = default;

  /// The request, which came by Instance::submit(), has found its place: what is stored of it may be loaded.
  virtual void on_entered(Instance& instance, Request& r) = 0;
  /// Tokens of the request's context to compress once its prompt is computed.
  [[nodiscard]] virtual std::int64_t compressed(const Request& r) const = 0;
  /// Its prompt has been computed; it takes part in no further step until it begins something else.
  virtual void on_prefilled(Instance& instance, Request& r) = 0;
  /// KV of a chunk of its prompt, one of KvMoving::writebacks, has left an instance whose steps fetch KV.
  virtual void on_offloaded(Instance& instance, Request& r) = 0;
  /// It has drafted what its round asks for, and stops.
  virtual void on_drafted(Instance& instance, Request& r) = 0;
  /// Work that was to be done once is done: a verification, to catch up, to decompress.
  virtual void on_done(Instance& instance, Request& r, Work work) = 0;
  /// It was preempted: its memory goes to others, and it takes part in no further step until it begins again.
  virtual void on_preempted(Instance& instance, Request& r) = 0;
  /// Its last token is out, and it takes part in no further step.
  virtual void on_finished(Instance& instance, Request& r) = 0;
};

}  // namespace kvsim::serving
