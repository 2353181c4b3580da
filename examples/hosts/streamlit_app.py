"""Streamlit: ``streamlit run streamlit_app.py``."""

import streamlit as st

import attn_widget as aw

st.header("Streamlit")
w = aw.show("the cat sat on the mat", layer=3, head=5, progress=False)
st.iframe(w.as_html(height=900))
st.write("below the page")
