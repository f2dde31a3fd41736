# CLP, the linear-programme solver (EPL), as the target kvsim_clp. Its headers count as the system's: our warnings are
# not theirs.
find_path(KVSIM_CLP_INCLUDE ClpSimplex.hpp PATH_SUFFIXES coin coin-or REQUIRED)
find_library(KVSIM_CLP_LIBRARY Clp REQUIRED)
find_library(KVSIM_COINUTILS_LIBRARY CoinUtils REQUIRED)
mark_as_advanced(KVSIM_CLP_INCLUDE KVSIM_CLP_LIBRARY KVSIM_COINUTILS_LIBRARY)

add_library(kvsim_clp INTERFACE)
target_include_directories(kvsim_clp SYSTEM INTERFACE ${KVSIM_CLP_INCLUDE})
target_link_libraries(kvsim_clp INTERFACE ${KVSIM_CLP_LIBRARY} ${KVSIM_COINUTILS_LIBRARY})
