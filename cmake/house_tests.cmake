# Tests of the build itself: each check must also be seen to fail on what it is there to refuse.
add_test(NAME house.LayersRefuseABadInclude
         COMMAND ${CMAKE_COMMAND} -DWORK_DIR=${CMAKE_BINARY_DIR}/house_tests -P ${PROJECT_SOURCE_DIR}/cmake/check_layers_test.cmake)
add_test(NAME house.IsaSymbolsRefuseASharedInline
         COMMAND bash ${PROJECT_SOURCE_DIR}/scripts/check_isa_symbols_test.sh ${CMAKE_CXX_COMPILER} ${CMAKE_BINARY_DIR}/house_tests)
if(NOT FOLIO_SANITIZE)
  # Sanitizers add weak symbols of their own.
  add_test(NAME house.IsaFilesExportNoSharedInline
           COMMAND bash ${PROJECT_SOURCE_DIR}/scripts/check_isa_symbols.sh ${CMAKE_BINARY_DIR})
endif()
