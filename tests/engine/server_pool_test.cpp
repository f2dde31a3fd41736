// Identical servers before one queue: by hand, against Erlang's C formula, and under random jobs.
// Source of the formula: L. Kleinrock, Queueing Systems, vol. 1, section 3.5 (M/M/m).
#include "sim/engine/server_pool.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "sim/engine/random.h"
#include "sim/engine/statistics.h"

namespace KVSIM_FILE {

using namespace kvsim::engine;

namespace {

/// Remembers when each job was done.
struct Jobs {
  explicit Jobs(std::size_t servers) : pool(simulator, servers) {}
  void submit(double seconds) {
    done_s.push_back(-1);
    pool.submit(from_seconds(seconds), Callback::to<&Jobs::done>(this, done_s.size() - 1));
  }
  void done(std::uint64_t job) {
    done_s[job] = simulator.now().seconds();
    order.push_back(job);
  }
  Simulator simulator;
  ServerPool pool;
  std::vector<double> done_s;
  std::vector<std::uint64_t> order;
};

/// Erlang C: the probability that a job waits, with `c` servers and offered load a = lambda E[S] < c.
double erlang_c(int c, double a) {
  double term = 1, sum = 0;  // a^k / k!
  for (int k = 0; k < c; ++k) {
    sum += term;
    term *= a / (k + 1);
  }
  const double waiting = term * c / (c - a);
  return waiting / (sum + waiting);
}

/// Poisson arrivals, exponential jobs of 1 s on average; the mean wait after a warm-up.
class MarkovQueue {
 public:
  MarkovQueue(std::size_t servers, double load, std::uint64_t replication)
      : rate_(load * static_cast<double>(servers)),
        arrivals_(7, "arrivals", replication),
        lengths_(7, "lengths", replication),
        pool_(simulator_, servers) {
    arrive();
  }
  double mean_wait_s() {
    while (completed_ < 80'000) simulator_.step();
    return wait_s_.mean();
  }

 private:
  struct Job {
    SimTime submitted;
    Duration length;
  };
  void arrive() {
    jobs_.push_back({simulator_.now(), from_seconds(lengths_.exponential(1))});
    pool_.submit(jobs_.back().length, Callback::to<&MarkovQueue::done>(this, jobs_.size() - 1));
    simulator_.schedule_in(from_seconds(arrivals_.exponential(1 / rate_)), Callback::to<&MarkovQueue::arrive>(this));
  }
  void done(std::uint64_t job) {
    if (++completed_ < 4'000) return;
    wait_s_.add((simulator_.now() - jobs_[job].submitted - jobs_[job].length).seconds());
  }

  double rate_;
  RandomStream arrivals_, lengths_;
  Simulator simulator_;
  ServerPool pool_;
  std::vector<Job> jobs_;
  Sample wait_s_;
  int completed_ = 0;
};

// Two servers: 3 s and 1 s begin at once; 1 s at 1 s; 5 s at 2 s; 1 s at 3 s.
TEST(ServerPool, JobsBeginInOrderOnTheFirstServerThatIsFree) {
  Jobs jobs(2);
  for (const double seconds : {3.0, 1.0, 1.0, 5.0, 1.0}) jobs.submit(seconds);
  EXPECT_EQ(jobs.pool.jobs(), 5U);
  jobs.simulator.run();
  EXPECT_EQ(jobs.done_s, (std::vector<double>{3, 1, 2, 7, 4}));
  EXPECT_EQ(jobs.pool.jobs(), 0U);
  EXPECT_DOUBLE_EQ(jobs.pool.work_s(), 11);
}

TEST(ServerPool, OneServerWorksInOrderOfSubmission) {
  Jobs jobs(1);
  for (const double seconds : {2.0, 0.0, 1.0, 0.0}) jobs.submit(seconds);
  EXPECT_TRUE(jobs.order.empty());  // never within the call
  jobs.simulator.run();
  EXPECT_EQ(jobs.order, (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_EQ(jobs.done_s, (std::vector<double>{2, 2, 3, 3}));
}

// W_q = C(c, a) E[S] / (c - a).
TEST(ServerPool, RandomJobsWaitAsErlangSays) {
  EXPECT_NEAR(erlang_c(1, 0.7), 0.7, 1e-12);
  EXPECT_NEAR(erlang_c(2, 1.0), 1.0 / 3, 1e-12);
  for (const int servers : {1, 2, 8}) {
    const double load = 0.7;
    std::vector<double> waits;
    for (std::uint64_t replication = 0; replication < 10; ++replication) {
      waits.push_back(MarkovQueue(static_cast<std::size_t>(servers), load, replication).mean_wait_s());
    }
    const ConfidenceInterval seen = confidence_95(waits);
    const double theory = erlang_c(servers, load * servers) / (servers - load * servers);
    EXPECT_NEAR(seen.mean, theory, 2 * seen.half_width_95) << servers << " servers";
    EXPECT_LT(seen.half_width_95, 0.08 * theory) << servers << " servers";
  }
}

// Every job is done once, none before its length is over; work is done at the rate of the servers while all are busy.
RC_GTEST_PROP(ServerPoolProperty, NoJobIsLostAndNoServerIdlesWhileAJobWaits, ()) {
  const auto servers = *rc::gen::inRange<std::size_t>(1, 6);
  const auto lengths = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000));
  Jobs jobs(servers);
  std::vector<double> free_s(servers, 0);
  std::vector<double> expected;
  double work_s = 0;
  for (const int milliseconds : lengths) {
    jobs.submit(milliseconds * 1e-3);
    const auto first = std::min_element(free_s.begin(), free_s.end());
    *first += milliseconds * 1e-3;
    expected.push_back(*first);
    work_s += milliseconds * 1e-3;
  }
  RC_ASSERT(jobs.pool.jobs() == lengths.size());
  jobs.simulator.run();
  RC_ASSERT(jobs.order.size() == lengths.size());
  RC_ASSERT(jobs.pool.jobs() == 0U);
  RC_ASSERT(std::abs(jobs.pool.work_s() - work_s) < 1e-9 * (1 + work_s));
  for (std::size_t i = 0; i < expected.size(); ++i) RC_ASSERT(std::abs(jobs.done_s[i] - expected[i]) < 1e-6);
}

}  // namespace
}  // namespace KVSIM_FILE
