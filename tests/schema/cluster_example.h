// A small configuration with every form of field, for the tests of object schemas.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/schema/object_schema.h"

namespace kvsim::schema::example {

enum class Policy { fcfs, lock_step, staggered };

struct Storage {
  std::string name;
  Sourced<double> read_bytes_per_s;
  std::int64_t capacity_bytes = 0;
};

struct Arrivals {
  std::optional<double> rate_per_s;
  std::optional<int> closed;
};

struct Length {
  std::int64_t mean_tokens = 0;
  double cv = 0.5;
};

struct Window {
  int length = 128;
};

struct Cluster {
  std::string name;
  std::int64_t memory_bytes = 0;
  double memory_fraction = 0.9;
  Policy policy = Policy::fcfs;
  bool verbose = false;
  int offloaded = -1;  ///< -1: all
  std::optional<double> deadline_s;
  std::vector<Storage> storage;
  std::vector<double> ratios;
  Arrivals arrivals;
  Length context;
  std::optional<Window> window;
  Sourced<double> price_per_h;
};

inline ObjectSchema<Storage> storage_schema() {
  ObjectSchema<Storage> s("storage", "A storage device.");
  s.required("name", &Storage::name, text().non_empty(), "what reports call it");
  s.required("read", &Storage::read_bytes_per_s, bandwidth().positive(), "read bandwidth");
  s.optional("capacity", &Storage::capacity_bytes, bytes().positive(), "size; left out: unlimited");
  return s;
}

inline ObjectSchema<Cluster> cluster_schema() {
  ObjectSchema<Arrivals> arrivals("arrivals", "How requests arrive.");
  arrivals.optional("rate", &Arrivals::rate_per_s, rate().positive(), "Poisson arrivals");
  arrivals.optional("closed", &Arrivals::closed, integer().positive(), "requests in flight");
  arrivals.exclusive({"rate", "closed"});

  ObjectSchema<Length> length("length", "A distribution of lengths.");
  length.required("mean", &Length::mean_tokens, tokens().positive(), "mean");
  length.optional("cv", &Length::cv, number().non_negative(), "coefficient of variation");
  length.shorthand("mean");

  ObjectSchema<Window> window("window", "A window.");
  window.optional("length", &Window::length, integer().positive(), "iterations");

  ObjectSchema<Cluster> s("cluster", "Some machines.");
  s.optional("name", &Cluster::name, text(), "what reports call it");
  s.required("memory", &Cluster::memory_bytes, bytes().positive(), "memory of one GPU");
  s.optional("memory_fraction", &Cluster::memory_fraction, number().above(0).at_most(1), "share that is used");
  s.optional("policy", &Cluster::policy,
             choice<Policy>({{"fcfs", Policy::fcfs, "first come, first served"},
                             {"lock_step", Policy::lock_step, "all draft, all verify"},
                             {"staggered", Policy::staggered, "verifications spread out"}}),
             "who runs when");
  s.optional("verbose", &Cluster::verbose, boolean(), "say more");
  s.optional("offloaded", &Cluster::offloaded, integer().non_negative().or_word("all", -1, "every request"),
             "requests whose KV is elsewhere");
  s.optional("deadline", &Cluster::deadline_s, time().positive(), "give up after");
  s.list("storage", &Cluster::storage, storage_schema(), Presence::optional, "devices", {.at_least = 0, .at_most = 2});
  s.list("ratios", &Cluster::ratios, number().above(0), Presence::optional, "keep ratios");
  s.object("arrivals", &Cluster::arrivals, arrivals, Presence::required, "how requests arrive");
  s.object("context", &Cluster::context, length, Presence::optional, "context lengths");
  s.object("window", &Cluster::window, window, Presence::optional, "scheduling window");
  s.optional("price", &Cluster::price_per_h, price().non_negative(), "rent");
  s.check([](const Cluster& c, const Reporter& report) {
    if (c.storage.size() == 2 && c.storage[0].name == c.storage[1].name) {
      report.fail("storage.1.name", "a second device of this name");
    }
  });
  return s;
}

}  // namespace kvsim::schema::example
