# folio_room(NAME [LINK libs...] [TEST_LINK libs...]): the library of src/NAME, its layer check, and its unit tests.
# Sources are found by name: *_test.cc are tests; *_avx2.cc and *_avx512.cc get their ISA's flags and only they do.
set(FOLIO_FLAGS_scalar -mfma)
set(FOLIO_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(FOLIO_FLAGS_avx512 -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni
                       -mprefer-vector-width=512
                       # gcc 12's own AVX-512 headers read undefined registers on purpose (_mm512_undefined_ps)
                       -Wno-uninitialized
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)

function(folio_set_isa_flags)
  foreach(source IN LISTS ARGN)
    foreach(isa scalar avx2 avx512)
      if(source MATCHES "_${isa}\\.cc$")
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${FOLIO_FLAGS_${isa}}")
      endif()
    endforeach()
    # Fully unrolled: instrumented, each takes minutes and 1.5 GB to compile. Guard pages watch its accesses instead
    # (product_test.cc), in every build.
    if(FOLIO_SANITIZE AND source MATCHES "/product_avx[0-9]+\\.cc$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=all)
    endif()
  endforeach()
endfunction()

function(folio_check_layers room dir)
  string(REPLACE ";" "," allowed "${FOLIO_DEPS_${room}}")
  string(REPLACE ";" "," rooms "${FOLIO_ROOMS}")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${dir}/*.h" "${dir}/*.cc")
  set(stamp "${CMAKE_BINARY_DIR}/layers/${room}.stamp")
  add_custom_command(
    OUTPUT ${stamp}
    COMMAND ${CMAKE_COMMAND} -DROOM=${room} "-DALLOWED=${allowed}" "-DROOMS=${rooms}" "-DSOURCES_DIR=${dir}"
            -P ${PROJECT_SOURCE_DIR}/cmake/check_layers.cmake
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/layers.cmake ${PROJECT_SOURCE_DIR}/cmake/check_layers.cmake
    COMMENT "")
  add_custom_target(layers_${room} DEPENDS ${stamp})
endfunction()

function(folio_room name)
  cmake_parse_arguments(ARG "" "" "LINK;TEST_LINK" ${ARGN})
  set(dir ${PROJECT_SOURCE_DIR}/src/${name})
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.cc ${dir}/*/*.cc)
  file(GLOB headers CONFIGURE_DEPENDS ${dir}/*.h ${dir}/*/*.h)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  folio_set_isa_flags(${sources})
  list(TRANSFORM FOLIO_DEPS_${name} PREPEND folio_ OUTPUT_VARIABLE deps)
  if(sources)
    add_library(folio_${name} STATIC ${sources} ${headers})
    target_include_directories(folio_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(folio_${name} PUBLIC folio_flags ${deps} ${ARG_LINK})
    add_dependencies(folio_${name} layers_${name})
  else()
    add_library(folio_${name} INTERFACE)
    target_include_directories(folio_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(folio_${name} INTERFACE folio_flags ${deps} ${ARG_LINK})
  endif()
  folio_check_layers(${name} ${dir})
  if(tests AND FOLIO_TESTS)
    add_executable(folio_${name}_test ${tests})
    target_link_libraries(folio_${name}_test PRIVATE folio_test_flags folio_${name} rapidcheck GTest::gmock_main ${ARG_TEST_LINK})
    list(LENGTH tests files)
    if(files GREATER 5)
      folio_precompile(folio_${name}_test <gtest/gtest.h> <functional> <memory> <random> <string> <vector>)
    endif()
    gtest_discover_tests(folio_${name}_test DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
  endif()
endfunction()
