"""Random tables of every kind: values, containers, defects of the form, and who reads them."""
