// Rows about keys of a profile's fitted forms: each gives a whole profile, in which one value differs.
#pragma once

#include "tests/scenario/key_rows.h"

namespace kvsim::testing {

struct FormFixture {
  bool mixed = false;   ///< one launch for chunks and decoding requests
  bool tables = false;  ///< measured tables beside the forms
  std::vector<std::string> base = {};
};

/// A row for the key at `path` (as the schema writes it, below the profile).
KeyRow form_row(const std::string& path, const std::string& a, const std::string& b, const FormFixture& fixture = {},
                Effect effect = Effect::measured);

}  // namespace kvsim::testing
