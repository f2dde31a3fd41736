// Where the search for a rate begins: closed forms, right within a factor of a few.
#pragma once

#include "sim/scenario/scenario.h"

namespace kvsim::planner::capacity {

/// Requests/s of the whole cluster at which the GPUs would be about half busy, by peak rates alone:
///   1/rate = K T(B)/B + 2 P c / F,   T(B) = (M + B KV)/BW,   B = min(KV capacity / KV, most requests)
/// with K output tokens and c prompt tokens of a mean request, KV the bytes of its context, P active parameters, F the
/// group's bf16 peak (the prompt's term only where prompts are prefilled here). The scenario must fit its machine.
double first_guess(const scenario::Scenario& scenario);

/// Requests/s at which a request is alone nearly always (one in fifty meets another) if it meets its objectives; where
/// they do not bound its time, a 256th of first_guess(). What fails here fails at any rate.
double lone_rate(const scenario::Scenario& scenario);

}  // namespace kvsim::planner::capacity
