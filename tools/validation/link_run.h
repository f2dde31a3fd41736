// Runs transfers over links of the catalogue as the simulator does, and says what they reached.
#pragma once

#include <cstdint>
#include <string>

namespace kvsim::validation {

enum class Direction {
  read,  ///< towards the GPU; of storage, reading it
  write
};

struct LinkRun {
  std::string link;  ///< name in the catalogue
  Direction direction = Direction::read;
  std::int64_t bytes = 1'000'000'000;  ///< of each transfer
  std::int64_t transfers = 1;          ///< submitted together, served one after another
  std::int64_t links = 1;              ///< equal ones side by side, each with its share of the bytes
};

/// Bytes per second from submission to the arrival of the last byte.
double bandwidth_of(const LinkRun& run);

}  // namespace kvsim::validation
