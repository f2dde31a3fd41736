// Independent pieces of work on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace kvsim::planner {

/// Calls work(), which must not throw, on so many threads, the calling one among them; on fewer where the system has no
/// room for more (a limit on memory or threads). Returns when all calls have.
void on_threads(std::size_t threads, const std::function<void()>& work);

/// Calls work(i) once for every i in [0, count), on at most `jobs` threads at a time, in order of i on each; returns
/// when all calls have. Where calls throw, the rest is skipped and the exception of the smallest index is rethrown.
/// Results that are stored by index and read afterwards do not depend on `jobs`.
void for_each_index(std::size_t count, int jobs, const std::function<void(std::size_t)>& work);

}  // namespace kvsim::planner
