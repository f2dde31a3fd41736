#include "planner/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace kvsim::planner {

void on_threads(std::size_t threads, const std::function<void()>& work) {
  std::vector<std::jthread> others;
  try {
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
  } catch (const std::system_error&) {  // those that are there do the work
  } catch (const std::bad_alloc&) {
  }
  work();
}

void for_each_index(std::size_t count, int jobs, const std::function<void(std::size_t)>& work) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  const auto take = [&] {
    for (std::size_t i = next++; i < count && !stop; i = next++) {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
        stop = true;
      }
    }
  };
  on_threads(std::min<std::size_t>(static_cast<std::size_t>(std::max(jobs, 1)), count), take);
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace kvsim::planner
