#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "tests/engine/completions.h"
#include "tests/transport/own_link.h"

namespace kvsim::transport {

/// One link, and a log of what arrives over it.
class OwnLinkTest : public ::testing::Test {
 protected:
  TransferId submit(std::uint64_t number, std::int64_t bytes, int priority = 0) {
    return link->submit({.bytes = bytes, .priority = priority, .on_complete = done.record(number)});
  }
  void run() {
    simulator.run();
    link->check_conservation();
  }

  engine::Simulator simulator;
  Completions done{simulator};
  std::unique_ptr<OwnLink> link;
};

}  // namespace kvsim::transport
