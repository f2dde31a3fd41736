// Where a measured row comes from.
#pragma once

#include <string>

#include "models/schema/error.h"

namespace kvsim::models {

struct SampleSource {
  std::string gpu;        ///< as the file has it; empty: the file does not say
  std::string framework;  ///< empty: the file does not say
  std::string version;
  schema::Origin origin;  ///< line of the file
};

/// A row that no fit may use, and why.
struct RefusedRow {
  schema::Origin origin;
  std::string reason;
};

}  // namespace kvsim::models
