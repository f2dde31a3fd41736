// Kernels that pass over data once with hardly any arithmetic: norms, rotary embedding, activation, quantising.
#pragma once

#include "models/kernels/forms/form_time.h"
#include "models/schema/sourced.h"

namespace kvsim::models {

/// t = t0 + stream(bytes), bytes read and written together; a kernel's input was mostly just written by the one before
/// it, so a part hits L2.
struct ElementwiseForm {
  double t0_s = 0;
  CachedStream stream;
  schema::Source source;

  [[nodiscard]] double seconds(double bytes, const Machine& machine) const {
    return t0_s * machine.latency_scale + stream.seconds(bytes, machine, false);
  }
};

}  // namespace kvsim::models
