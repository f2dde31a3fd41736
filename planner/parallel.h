// Independent pieces of work on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace kvsim::planner {

/// Calls work(i) once for every i in [0, count), on at most `jobs` threads at a time, in order of i on each; returns
/// when all calls have. Where calls throw, the rest is skipped and the exception of the smallest index is rethrown.
/// Results that are stored by index and read afterwards do not depend on `jobs`.
void for_each_index(std::size_t count, int jobs, const std::function<void(std::size_t)>& work);

}  // namespace kvsim::planner
