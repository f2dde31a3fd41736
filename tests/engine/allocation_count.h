// How often this program has allocated: the test executable replaces operator new.
#pragma once

#include <cstddef>

std::size_t allocation_count();
