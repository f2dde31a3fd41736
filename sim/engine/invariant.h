// Checks that end a run rather than let it print a wrong number.
//   KVSIM_ALWAYS(condition, message)  in every build: conservation laws, a clock that would go backwards
//   KVSIM_DEBUG(condition, message)   in debug builds (NDEBUG absent), or where KVSIM_DEBUG_CHECKS is defined to 1
// Both throw InvariantViolation. The message is evaluated only when the condition is false. With KVSIM_CHECKS defined
// to 0 nothing is checked, but what a condition does is done: to measure what checks cost (tests/bench/checks.py).
#pragma once

#include <stdexcept>
#include <string_view>

namespace kvsim::engine {

/// A broken conservation law or a call against its contract: a defect of the program, not of its input.
class InvariantViolation : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws InvariantViolation with "file:line: message (condition)". Of `file` only the last component is shown.
[[noreturn]] void fail_invariant(const char* condition, std::string_view message, const char* file, int line);

}  // namespace kvsim::engine

#ifndef KVSIM_CHECKS
#define KVSIM_CHECKS 1
#endif

#if KVSIM_CHECKS
#define KVSIM_ALWAYS(condition, message)                                          \
  do {                                                                            \
    if (!(condition)) [[unlikely]] {                                              \
      ::kvsim::engine::fail_invariant(#condition, (message), __FILE__, __LINE__); \
    }                                                                             \
  } while (false)
#else
#define KVSIM_ALWAYS(condition, message) (static_cast<void>(!(condition)), static_cast<void>(sizeof(message)))
#endif

#ifndef KVSIM_DEBUG_CHECKS
#ifdef NDEBUG
#define KVSIM_DEBUG_CHECKS 0
#else
#define KVSIM_DEBUG_CHECKS 1
#endif
#endif

#if KVSIM_DEBUG_CHECKS
#define KVSIM_DEBUG(condition, message) KVSIM_ALWAYS(condition, message)
#else
#define KVSIM_DEBUG(condition, message) static_cast<void>(0)
#endif
