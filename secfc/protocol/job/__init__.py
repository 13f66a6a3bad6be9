"""The job, on which all parties agree, and what a party refuses."""
