#include "planner/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace kvsim::planner {

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
  const std::size_t workers = std::min<std::size_t>(static_cast<std::size_t>(std::max(jobs, 1)), count);
  if (workers <= 1) {
    take();
  } else {
    boost::asio::thread_pool pool(workers);
    for (std::size_t i = 0; i < workers; ++i) boost::asio::post(pool, take);
    pool.join();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace kvsim::planner
